#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace tandem::format {

/// Padding is written out, so there is an end to what may be asked for.
inline constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 30;

/// Whether it is a power of two up to kMaxAlignment.
[[nodiscard]] constexpr bool is_alignment(std::uint64_t bytes) noexcept {
  return std::has_single_bit(bytes) && bytes <= kMaxAlignment;
}

/// How a writer places segments.
/// Source: the defaults are those of ExecuTorch's exporter, ExecutorchBackendConfig in exir/capture/_config.py.
struct WriteOptions {
  /// Units: bytes; see is_alignment(). Every segment starts at a multiple of it, counted from byte 0 of the file.
  std::uint64_t segment_alignment = 128;
  /// Stricter wishes of single segments: empty, or one per segment.
  std::vector<std::uint64_t> own_alignments{};
};

}  // namespace tandem::format
