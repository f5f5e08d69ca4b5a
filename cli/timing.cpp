#include "cli/timing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tandem::cli {

std::chrono::nanoseconds percentile(std::span<const std::chrono::nanoseconds> sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::clamp<std::size_t>(static_cast<std::size_t>(rank), 1, sorted.size()) - 1];
}

}  // namespace tandem::cli
