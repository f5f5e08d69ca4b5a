#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::base {

/// Whether two layouts of equal sizes place every element alike; strides of axes with one element do not matter.
[[nodiscard]] bool same_layout(std::span<const std::int64_t> sizes, std::span<const std::int64_t> a,
                               std::span<const std::int64_t> b) noexcept;

/// Copies elements of `item_bytes` each from one layout to another, on the host.
///
/// Shapes: the three spans have equal length, at most kMaxRank; strides in elements.
/// The memory must not overlap.
void copy_strided(void* to, std::span<const std::int64_t> to_strides, const void* from,
                  std::span<const std::int64_t> from_strides, std::span<const std::int64_t> sizes,
                  std::size_t item_bytes) noexcept;

}  // namespace tandem::base
