#pragma once

#include <tandem/result.h>

#include <string>
#include <string_view>
#include <utility>

namespace tandem::cli {

/// Replaces `file`.
/// Errors: NotFound (its folder), AccessFailed, with the file and the system's reason.
[[nodiscard]] Status write_file(const std::string& file, std::string_view bytes);

/// A file that is complete, but not yet in its place; removed with this object unless it was moved there.
class NewFile {
 public:
  /// Writes `bytes` to a new file in the folder of `file`.
  /// Errors: as write_file().
  [[nodiscard]] static Result<NewFile> write(const std::string& file, std::string_view bytes);
  NewFile(NewFile&& other) noexcept
      : target_{std::move(other.target_)}, path_{std::exchange(other.path_, std::string{})} {}
  NewFile& operator=(NewFile&& other) noexcept {
    std::swap(target_, other.target_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~NewFile();

  /// Where it is until then.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Replaces what has the name, in one step.
  /// Errors: AccessFailed, with the file and the system's reason.
  [[nodiscard]] Status move_into_place();

 private:
  NewFile(std::string target, std::string path) noexcept : target_{std::move(target)}, path_{std::move(path)} {}

  std::string target_;
  std::string path_;  // empty: moved
};

}  // namespace tandem::cli
