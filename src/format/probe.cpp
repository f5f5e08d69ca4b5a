#include "format/probe.h"

#include "format/head.h"

#include <algorithm>

namespace tandem::format {

FileKind probe(Bytes file) noexcept {
  const std::string_view found = read_magic(file, kIdentifierOffset);
  if (found.empty()) return FileKind::TooShort;
  if (found == "ET12") return FileKind::Pte;
  if (found == "FT01") return FileKind::Ptd;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool other_version = found.starts_with("ET") && std::all_of(found.begin() + 2, found.end(), is_digit);
  return other_version ? FileKind::IncompatiblePte : FileKind::Unknown;
}

}  // namespace tandem::format
