#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace tandem::base {

/// A file mapped read-only. Nothing is read until a page is touched.
///
/// Lifetime: the bytes stay valid until destruction. A file that somebody truncates while it is mapped faults when it
///   is read; that is the user's to avoid.
class MappedFile {
 public:
  /// Errors: NotFound; AccessFailed with errno (a directory, a special file, no permission, no address space).
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() noexcept = default;
  MappedFile(MappedFile&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}
  std::span<const std::byte> bytes_{};
};

}  // namespace tandem::base
