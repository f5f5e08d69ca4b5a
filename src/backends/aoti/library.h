#pragma once

#include "backends/aoti/abi.h"
#include "backends/aoti/shim_table.h"
#include "base/loadable_library.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tandem::aoti {

using base::LoadVia;

/// An AOTInductor library in this process.
///
/// Its imports of the shims are bound to `table` before it is loaded, and nothing of it is visible to other libraries.
/// The directory that the environment's TANDEM_KEEP_LIBS names gets a copy for debuggers.
///
/// Lifetime: closing runs the library's pending thread-local destructors and unmaps it; nobody may be inside.
/// Thread-safety: const members may run concurrently; open() and closing from any thread.
class Library {
 public:
  /// Loads `bytes`; `key` is the name for messages. `overrides` come before `table`; a library with any is no subject
  /// for debuggers, so TANDEM_KEEP_LIBS passes over it.
  ///
  /// Errors: InvalidProgram, not a well-formed library; IncompatibleDelegate, it is for another processor (AVX-512
  ///   included), imports functions that nobody supplies (all are listed), or the dynamic loader refuses it (its text
  ///   is kept);
  ///   AccessFailed, neither memory nor a file can be had for it.
  [[nodiscard]] static Result<std::unique_ptr<Library>> open(std::span<const std::byte> bytes, std::string_view key,
                                                             const ShimTable& table, LoadVia via = LoadVia::Automatic,
                                                             std::span<const Shim> overrides = {});
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] const AotiSymbols& symbols() const noexcept { return symbols_; }

 private:
  Library(void* handle, std::uintptr_t first, std::uintptr_t end) noexcept
      : handle_{handle}, first_{first}, end_{end} {}

  void* handle_;
  std::uintptr_t first_;  ///< Addresses that it occupies.
  std::uintptr_t end_;
  AotiSymbols symbols_{};
};

class ElfImage;

/// Errors: IncompatibleDelegate, the library's code has AVX-512 in it and the processor has not. Its constructors would
/// end the process already.
[[nodiscard]] Status check_processor(const ElfImage& image, bool has_avx512);

/// The library of these bytes, shared with everybody in the process who has the same bytes open with the same table.
///
/// `key` names the library; if it starts with the bytes' SHA-256 ("<64 digits>_so_blob"), the digest is verified.
/// Errors: as Library::open; InvalidProgram, the digest differs (expected and found).
[[nodiscard]] Result<std::shared_ptr<const Library>> open_shared(std::span<const std::byte> bytes, std::string_view key,
                                                                 const ShimTable& table);

}  // namespace tandem::aoti
