#pragma once

#include <tandem/tensor.h>

#include <array>
#include <cstdint>
#include <span>

namespace tandem::base {

/// One axis of a copy between two layouts.
struct Axis {
  std::int64_t size = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// The axes of a copy: those with more than one element, outermost in `to` first, neighbours joined where both layouts
/// allow it.
struct Axes {
  std::array<Axis, kMaxRank> list{};
  std::size_t count = 0;
  [[nodiscard]] std::span<Axis> span() noexcept { return {list.data(), count}; }
};

/// Shapes: the three spans have equal length, at most kMaxRank. Strides in any one unit.
[[nodiscard]] Axes simplify(std::span<const std::int64_t> sizes, std::span<const std::int64_t> to,
                            std::span<const std::int64_t> from) noexcept;

}  // namespace tandem::base
