#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace tandem::aoti {

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

}  // namespace tandem::aoti
