#pragma once

#include <tandem/custom.h>
#include <tandem/result.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tandem::custom {

/// A library of the user's in this process, and the table that it returned.
///
/// Lifetime: closes the library when the last owner goes; nobody may be inside.
/// Thread-safety: const members may run concurrently; opening and closing from any thread.
class Library {
 public:
  /// The library of these bytes, shared with everybody who has opened the same place in memory. `key` names it in
  /// messages and in what TANDEM_KEEP_LIBS keeps.
  ///
  /// Lifetime: `bytes` outlive the library.
  /// Errors: IncompatibleDelegate, the dynamic loader refuses it (its text is kept), it has no
  /// tandem_custom_delegate(),
  ///   or that returns nothing or a table of another version (both are named); BackendFailed, it threw; AccessFailed,
  ///   neither memory nor a file can be had for it.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> of_bytes(std::span<const std::byte> bytes,
                                                                       std::string_view key);
  /// Errors: NotFound, no such file; as above.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> of_file(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] const TandemCustomDelegate& table() const noexcept { return *table_; }

 private:
  explicit Library(void* handle) noexcept : handle_{handle} {}
  /// Takes over `handle`.
  [[nodiscard]] static Result<std::shared_ptr<Library>> adopt(void* handle);

  void* handle_;
  const TandemCustomDelegate* table_ = nullptr;
};

}  // namespace tandem::custom
