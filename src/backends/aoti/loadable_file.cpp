#include "backends/aoti/loadable_file.h"

#include "base/errno_error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace tandem::aoti {
namespace {

/// Never the same number twice in this process.
std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> serial{0};
  return serial.fetch_add(1, std::memory_order_relaxed);
}

/// "/proc/self", then one "/." or "/" per bit of `serial`, then "/fd/<descriptor>": one file, endless spellings.
std::string fresh_path(std::uint64_t serial, int descriptor) {
  std::string path = "/proc/self";
  for (; serial != 0; serial >>= 1) path += (serial & 1U) != 0 ? "/." : "/";
  return path + "/fd/" + std::to_string(descriptor);
}

Status write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::errno_error("library cannot be written", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

int make_memory_descriptor() noexcept {
  // MFD_EXEC of Linux 6.3, which glibc 2.36 does not name: needed where memory is not executable by default.
  constexpr unsigned kExecutable = 0x0010U;
  const int descriptor = ::memfd_create("tandem-library", MFD_CLOEXEC | kExecutable);
  if (descriptor >= 0 || errno != EINVAL) return descriptor;
  return ::memfd_create("tandem-library", MFD_CLOEXEC);
}

}  // namespace

Result<LoadableFile> LoadableFile::in_memory(std::span<const std::byte> bytes) {
  const int descriptor = make_memory_descriptor();
  if (descriptor < 0) return base::errno_error("memfd_create", errno);
  LoadableFile file{descriptor, fresh_path(next_serial(), descriptor), false};
  TANDEM_CHECK_OK(write_all(descriptor, bytes));
  if (::access(file.path_.c_str(), R_OK) != 0) return base::errno_error("/proc is not there", errno);
  return file;
}

Result<LoadableFile> LoadableFile::in_directory(std::span<const std::byte> bytes) {
  const char* directory = std::getenv("TMPDIR");
  std::string path = directory != nullptr && *directory != '\0' ? directory : "/tmp";
  path += "/tandem-" + std::to_string(::getpid()) + "-" + std::to_string(next_serial()) + "-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return base::errno_error("library's file cannot be made", errno).with_file(path);
  LoadableFile file{descriptor, std::move(path), true};
  TANDEM_CHECK_OK(write_all(descriptor, bytes));
  return file;
}

LoadableFile::~LoadableFile() {
  if (unlink_) ::unlink(path_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tandem::aoti
