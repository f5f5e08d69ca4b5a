#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::base {

/// A strided array in memory.
///
/// Shapes: sizes and strides of equal length, at most kMaxRank, none negative; strides in elements.
struct StridedArray {
  const void* data = nullptr;
  std::span<const std::int64_t> sizes{};
  std::span<const std::int64_t> strides{};
  std::size_t item_bytes = 1;
};

enum class Overlap : std::uint8_t {
  None,
  Some,
  Undecided,  ///< Deciding it would take too long. No layout that slicing, transposing or padding makes.
};

/// Tells if two elements of one array share a place. Axes of one element count for nothing.
[[nodiscard]] Overlap overlaps_itself(std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides) noexcept;

/// Tells if two arrays share a byte. Columns of one matrix do not, though their ranges meet.
[[nodiscard]] Overlap overlap(const StridedArray& a, const StridedArray& b) noexcept;

}  // namespace tandem::base
