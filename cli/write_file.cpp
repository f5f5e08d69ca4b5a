#include "cli/write_file.h"

#include "base/errno_error.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace tandem::cli {
namespace {

Error not_written(const std::string& file) {
  return base::errno_error("file cannot be written", errno).with_file(file);
}

/// `mode` is fopen()'s; errors name `file`.
Status write_to(const std::string& path, const char* mode, std::string_view bytes, const std::string& file) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{std::fopen(path.c_str(), mode), &std::fclose};
  if (!out) return not_written(file);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out.get()) == bytes.size();
  // A full disk may show only when the buffer is flushed.
  if (!written || std::fclose(out.release()) != 0) return not_written(file);
  return {};
}

}  // namespace

Status write_file(const std::string& file, std::string_view bytes) { return write_to(file, "wbe", bytes, file); }

Result<NewFile> NewFile::write(const std::string& file, std::string_view bytes) {
  NewFile made{file, fmt::format("{}.{}.new", file, ::getpid())};
  // Exclusive: nobody else's file is overwritten, no link of somebody else's followed.
  Status written = write_to(made.path_, "wbxe", bytes, file);
  if (written.ok()) return made;
  if (written.error().native().code == EEXIST) made.path_.clear();  // it is not ours to remove
  return std::move(written).error();
}

NewFile::~NewFile() {
  if (!path_.empty()) std::remove(path_.c_str());
}

Status NewFile::move_into_place() {
  if (std::rename(path_.c_str(), target_.c_str()) != 0) return not_written(target_);
  path_.clear();
  return {};
}

}  // namespace tandem::cli
