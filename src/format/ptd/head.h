#pragma once

#include "format/head.h"

/// Where the numbers of a `.ptd` head lie, for the reader and the writer.
/// Source: ExecuTorch extension/flat_tensor/serialize/flat_tensor_header.h.
namespace tandem::format::ptd_head {

inline constexpr const char* kIdentifier = "FT01";
inline constexpr std::string_view kMagic = "FH01";
inline constexpr std::size_t kLengthOffset = kHeaderOffset + 4;
inline constexpr std::size_t kFlatbufferOffsetOffset = kHeaderOffset + 8;
inline constexpr std::size_t kFlatbufferBytesOffset = kHeaderOffset + 16;
inline constexpr std::size_t kSegmentBaseOffset = kHeaderOffset + 24;
inline constexpr std::size_t kSegmentDataBytesOffset = kHeaderOffset + 32;
inline constexpr std::uint32_t kMinLength = 40;

}  // namespace tandem::format::ptd_head
