#include "base/strided_axes.h"

#include <algorithm>

namespace tandem::base {

Axes simplify(std::span<const std::int64_t> sizes, std::span<const std::int64_t> to,
              std::span<const std::int64_t> from) noexcept {
  Axes axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) axes.list[axes.count++] = {sizes[i], to[i], from[i]};
  }
  std::sort(axes.list.begin(), axes.list.begin() + axes.count,
            [](const Axis& a, const Axis& b) { return a.to != b.to ? a.to > b.to : a.from > b.from; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < axes.count; ++i) {
    const Axis& inner = axes.list[i];
    if (kept > 0) {
      Axis& outer = axes.list[kept - 1];
      if (outer.to == inner.to * inner.size && outer.from == inner.from * inner.size) {
        outer = {outer.size * inner.size, inner.to, inner.from};
        continue;
      }
    }
    axes.list[kept++] = inner;
  }
  axes.count = kept;
  return axes;
}

}  // namespace tandem::base
