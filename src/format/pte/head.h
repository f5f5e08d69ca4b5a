#pragma once

#include "format/head.h"

#include <optional>

namespace tandem::format {

/// A `.pte` cut into its two parts.
struct PteHead {
  std::uint32_t root_offset = 0;
  std::optional<ExtendedHeader> header{};
  Bytes body{};              ///< The FlatBuffer, from byte 0 of the file.
  SegmentRegion segments{};  ///< Empty without a header.
};

/// Errors: as check_identifier(); InvalidProgram, the extended header is too short, or its sizes contradict each other
///   or the file's length.
/// Source: ExecuTorch schema/extended_header.h.
[[nodiscard]] Result<PteHead> read_pte_head(const FaultMaker& fault);

inline constexpr const char* kPteIdentifier = "ET12";
inline constexpr std::size_t kPteHeaderBytes = 32;  ///< Of the extended header that is written.

/// Writes an extended header of kPteHeaderBytes behind the identifier; `header.length` is not looked at.
void put_pte_header(std::span<std::byte> file, const ExtendedHeader& header) noexcept;

}  // namespace tandem::format
