#pragma once

#include <chrono>
#include <span>

namespace tandem::cli {

/// Nearest-rank percentile: the smallest entry that at least `percent` of all entries don't exceed.
///
/// Preconditions: `sorted` ascends and is not empty; 0 < percent <= 100.
[[nodiscard]] std::chrono::nanoseconds percentile(std::span<const std::chrono::nanoseconds> sorted, double percent);

/// Units: microseconds with a fraction.
[[nodiscard]] inline double to_us(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace tandem::cli
