#include "cli/write_file.h"

#include "base/errno_error.h"

#include <cerrno>
#include <cstdio>
#include <memory>

namespace tandem::cli {

Status write_file(const std::string& file, std::string_view bytes) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{std::fopen(file.c_str(), "wbe"), &std::fclose};
  if (!out) return base::errno_error("file cannot be written", errno).with_file(file);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out.get()) == bytes.size();
  // A full disk may show only when the buffer is flushed.
  if (!written || std::fclose(out.release()) != 0) {
    return base::errno_error("file cannot be written", errno).with_file(file);
  }
  return {};
}

}  // namespace tandem::cli
