#pragma once

#include "format/fault.h"

#include <cstdint>
#include <string_view>

/// The first bytes of a file, which both formats share: root offset, identifier, an extended header behind them.
namespace tandem::format {

inline constexpr std::size_t kIdentifierOffset = 4;
inline constexpr std::size_t kHeaderOffset = 8;  ///< Of the extended header's magic, where there is one.
inline constexpr std::size_t kIdentifierBytes = 4;
inline constexpr std::uintptr_t kFileAlignment = 16;  ///< What the body's most strictly aligned vectors ask for.

/// Integer at `offset`. Precondition: it lies within `file`.
[[nodiscard]] std::uint32_t read_u32(Bytes file, std::size_t offset) noexcept;
[[nodiscard]] std::uint64_t read_u64(Bytes file, std::size_t offset) noexcept;

/// Writes at `offset`. Precondition: it lies within `file`.
void put_u32(std::span<std::byte> file, std::size_t offset, std::uint32_t value) noexcept;
void put_u64(std::span<std::byte> file, std::size_t offset, std::uint64_t value) noexcept;
void put_magic(std::span<std::byte> file, std::size_t offset, std::string_view magic) noexcept;

/// The four bytes at `offset` as text; empty where the file ends before.
[[nodiscard]] std::string_view read_magic(Bytes file, std::size_t offset) noexcept;

/// Errors: InvalidArgument, the bytes start at an address that is not a multiple of 16; the format's code, shorter than
///   8 bytes or another identifier.
[[nodiscard]] Status check_identifier(const FaultMaker& fault, std::string_view identifier);

/// The part of the file that segments lie in; offsets in tables count from `base`.
struct SegmentRegion {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

}  // namespace tandem::format
