#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::base {

/// How bytes become something that the dynamic loader opens.
enum class LoadVia : std::uint8_t {
  Automatic,    ///< Memory, else a file.
  PrivateFile,  ///< A file under $TMPDIR that is unlinked once it is open.
};

/// Bytes under a path that the dynamic loader can open, for as long as this object lives.
///
/// Every path is spelled as none was before in this process: glibc recognises a library by the spelling of its name,
/// and both descriptor numbers and free file names come back.
class LoadableFile {
 public:
  /// In anonymous memory (memfd).
  /// Errors: AccessFailed with errno, naming the call.
  [[nodiscard]] static Result<LoadableFile> in_memory(std::span<const std::byte> bytes);
  /// In a file that only this user can read, under $TMPDIR, else /tmp; removed with this object.
  /// Errors: as above.
  [[nodiscard]] static Result<LoadableFile> in_directory(std::span<const std::byte> bytes);

  LoadableFile(LoadableFile&& other) noexcept
      : descriptor_{std::exchange(other.descriptor_, -1)},
        path_{std::move(other.path_)},
        unlink_{std::exchange(other.unlink_, false)} {}
  LoadableFile& operator=(LoadableFile&&) = delete;
  ~LoadableFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  LoadableFile(int descriptor, std::string path, bool unlink) noexcept
      : descriptor_{descriptor}, path_{std::move(path)}, unlink_{unlink} {}

  int descriptor_;
  std::string path_;
  bool unlink_;
};

/// Opens a library of these bytes, with all its functions bound and nothing of it visible to others. What dlclose()
/// takes; its constructors have run.
///
/// Errors: IncompatibleDelegate, the dynamic loader refuses it (its text is kept); AccessFailed, neither memory nor a
///   file can be had for it.
[[nodiscard]] Result<void*> open_library(std::span<const std::byte> bytes, LoadVia via = LoadVia::Automatic);

/// The same for a file.
/// Errors: IncompatibleDelegate, as above.
[[nodiscard]] Result<void*> open_library(const std::string& path);

/// Closes it; a refusal goes to the log.
void close_library(void* handle) noexcept;

/// If the environment names a directory with TANDEM_KEEP_LIBS: a copy there for debuggers (`add-symbol-file COPY -o
/// ADDRESS`). `key` names the library, `address` is where it starts. Failures go to the log.
void keep_library(std::span<const std::byte> bytes, std::string_view key, std::uintptr_t address);

}  // namespace tandem::base
