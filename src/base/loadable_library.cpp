#include "base/loadable_library.h"

#include "base/errno_error.h"
#include "base/log.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace tandem::base {
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
    if (written <= 0) return errno_error("library cannot be written", written < 0 ? errno : EIO);
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

Result<LoadableFile> make_file(std::span<const std::byte> bytes, LoadVia via) {
  if (via == LoadVia::Automatic) {
    if (auto file = LoadableFile::in_memory(bytes); file.ok()) return file;
  }
  return LoadableFile::in_directory(bytes);
}

Error refusal(std::string text) {
  return Error{ErrorCode::IncompatibleDelegate, "the dynamic loader refuses the library"}.with_native(
      Origin::DynamicLoader, 0, std::move(text));
}

std::string loader_text() {
  const char* text = dlerror();
  return text != nullptr ? text : "";
}

}  // namespace

Result<LoadableFile> LoadableFile::in_memory(std::span<const std::byte> bytes) {
  const int descriptor = make_memory_descriptor();
  if (descriptor < 0) return errno_error("memfd_create", errno);
  LoadableFile file{descriptor, fresh_path(next_serial(), descriptor), false};
  TANDEM_CHECK_OK(write_all(descriptor, bytes));
  if (::access(file.path_.c_str(), R_OK) != 0) return errno_error("/proc is not there", errno);
  return file;
}

Result<LoadableFile> LoadableFile::in_directory(std::span<const std::byte> bytes) {
  const char* directory = std::getenv("TMPDIR");
  std::string path = directory != nullptr && *directory != '\0' ? directory : "/tmp";
  path += "/tandem-" + std::to_string(::getpid()) + "-" + std::to_string(next_serial()) + "-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return errno_error("library's file cannot be made", errno).with_file(path);
  LoadableFile file{descriptor, std::move(path), true};
  TANDEM_CHECK_OK(write_all(descriptor, bytes));
  return file;
}

LoadableFile::~LoadableFile() {
  if (unlink_) ::unlink(path_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void*> open_library(std::span<const std::byte> bytes, LoadVia via) {
  std::string message;
  // A system may allow to make memory files but not to run them; then a file is worth a try.
  for (const LoadVia way : {via, LoadVia::PrivateFile}) {
    TANDEM_TRY(const LoadableFile file, make_file(bytes, way));
    if (void* handle = dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
    message = loader_text();
    if (message.find("cannot open shared object file") == std::string::npos &&
        message.find("failed to map segment") == std::string::npos) {
      break;
    }
  }
  return refusal(std::move(message));
}

Result<void*> open_library(const std::string& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
  return refusal(loader_text());
}

void close_library(void* handle) noexcept {
  if (dlclose(handle) == 0) return;
  log(LogLevel::Warning, "library does not close: " + loader_text());
}

void keep_library(std::span<const std::byte> bytes, std::string_view key, std::uintptr_t address) {
  const char* directory = std::getenv("TANDEM_KEEP_LIBS");
  if (directory == nullptr || *directory == '\0') return;
  std::string name{key.substr(0, 200)};
  std::ranges::replace(name, '/', '_');  // keys come from the program; none may lead out of the directory
  const std::string path = std::string{directory} + "/" + name + ".so";
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    log(LogLevel::Warning, "library can't be kept at " + path);
  } else {
    log(LogLevel::Info, "library at address " + std::to_string(address) + " is kept at " + path);
  }
}

}  // namespace tandem::base
