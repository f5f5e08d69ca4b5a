#include "base/mapped_file.h"

#include "base/errno_error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

namespace tandem::base {
namespace {

struct Fd {
  int value;
  ~Fd() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not hang; it has no effect on regular files.
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (fd.value < 0) return errno_error("file cannot be opened", errno).with_file(path.string());
  struct stat info {};
  if (::fstat(fd.value, &info) != 0) return errno_error("file cannot be examined", errno).with_file(path.string());
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::AccessFailed, "not a regular file"}.with_file(path.string());
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile{};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.value, 0);
  if (address == MAP_FAILED) return errno_error("file cannot be mapped", errno).with_file(path.string());
  return MappedFile{{static_cast<const std::byte*>(address), size}};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tandem::base
