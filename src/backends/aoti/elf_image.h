#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// What the edits of a library changed.
struct ElfEdits {
  std::size_t supplied = 0;  ///< Imports that became absolute symbols.
  std::size_t hidden = 0;
  std::size_t unique = 0;  ///< STB_GNU_UNIQUE symbols that became weak.
};

/// A private copy of an x86-64 shared library, checked, and edited before the dynamic loader sees it.
///
/// The file is taken as hostile: whatever is read lies within it, and the tables that the dynamic loader trusts
/// (strings, symbols, hashes, versions, relocations) lie within the loaded segments. The code itself can't be judged.
///
/// Source: System V ABI, chapter 5 (gabi 4.1), and its AMD64 supplement.
class ElfImage {
 public:
  /// Errors: InvalidProgram, naming the field and the offset in `file`; IncompatibleDelegate, a well-formed library
  ///   for another processor, naming both.
  [[nodiscard]] static Result<ElfImage> parse(std::span<const std::byte> file);

  /// Names of the undefined, non-weak symbols that supply() has not bound, in the order of the table.
  /// Lifetime: until this image is gone.
  [[nodiscard]] std::vector<std::string_view> missing_imports() const;
  /// Names of the libraries that the loader brings in first.
  [[nodiscard]] std::vector<std::string_view> needed() const;

  /// Binds every import that `address_of` knows (0: it does not): the symbol becomes defined, absolute and hidden,
  /// so that the loader takes the address and looks nowhere else.
  template <class AddressOf>
  void supply(AddressOf&& address_of) {
    for (std::size_t i = 1; i < symbol_count_; ++i) {
      if (!is_import(i)) continue;
      if (const std::uintptr_t address = address_of(symbol_name(i)); address != 0) bind(i, address);
    }
  }
  /// Hides every definition but the entry points (`AOTInductor*`) and libstdc++'s `__freeres`; turns
  /// STB_GNU_UNIQUE into STB_WEAK, clears DF_1_NODELETE, and asks for a stack that is not executable. Without it,
  /// libraries see each other's symbols and the first one never unloads.
  void isolate();
  /// Turns "the loader must find this version" into "may": what is missing then is the symbols alone, by name.
  void weaken_versions();
  /// Whether the loader is asked to bring in a library of this name; from now on it is not.
  bool drop_needed(std::string_view library);
  /// Whether the executable segments hold instructions of AVX-512 in the forms that compilers use to move vectors.
  /// A guess: other bytes look like that by chance once in 10 GB.
  /// Source: Intel SDM volume 2, 2.7 (EVEX prefix).
  [[nodiscard]] bool uses_avx512() const;

  [[nodiscard]] const ElfEdits& edits() const noexcept { return edits_; }
  /// The whole file, edited.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// The prefix that segments load; what follows (section table, debug information) is for other tools.
  [[nodiscard]] std::span<const std::byte> loaded_bytes() const noexcept {
    return std::span{bytes_}.first(loaded_end_);
  }
  /// Units: bytes; addresses relative to where the library is loaded.
  [[nodiscard]] std::uint64_t first_address() const noexcept { return first_address_; }
  [[nodiscard]] std::uint64_t end_address() const noexcept { return end_address_; }

 private:
  struct Parser;
  ElfImage() = default;

  [[nodiscard]] bool is_import(std::size_t symbol) const;
  [[nodiscard]] std::string_view symbol_name(std::size_t symbol) const;
  [[nodiscard]] std::string_view string_at(std::uint64_t offset) const;
  void bind(std::size_t symbol, std::uintptr_t address);
  void clear_executable_stack();

  /// Offset and length in the file.
  struct Extent {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Needed {
    std::size_t entry = 0;   ///< File offset of the dynamic entry.
    std::uint64_t name = 0;  ///< Offset into the strings.
  };

  std::vector<std::byte> bytes_;
  std::size_t loaded_end_ = 0;
  std::uint64_t first_address_ = 0;
  std::uint64_t end_address_ = 0;
  std::size_t program_headers_ = 0;  ///< File offset.
  std::size_t program_header_count_ = 0;
  std::size_t strings_ = 0;  ///< File offset; the last of `string_bytes_` is NUL.
  std::size_t string_bytes_ = 0;
  std::size_t symbols_ = 0;  ///< File offset.
  std::size_t symbol_count_ = 0;
  std::size_t flags_1_ = 0;  ///< File offset of DT_FLAGS_1's value; 0 if there is none.
  std::vector<Needed> needed_;
  std::vector<std::size_t> versions_;  ///< File offsets of the flags of needed versions.
  std::vector<Extent> code_;           ///< Executable segments.
  ElfEdits edits_;
};

}  // namespace tandem::aoti
