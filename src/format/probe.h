#pragma once

#include "format/pte/pte.h"

namespace tandem::format {

enum class FileKind : std::uint8_t {
  Pte,              ///< A program that read_pte() knows.
  Ptd,              ///< A data file that read_ptd() knows.
  IncompatiblePte,  ///< A program of another format version.
  TooShort,         ///< Fewer bytes than an identifier needs.
  Unknown,
};

/// What the identifier in the first 8 bytes says; nothing else is looked at.
[[nodiscard]] FileKind probe(Bytes file) noexcept;

}  // namespace tandem::format
