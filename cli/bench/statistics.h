#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

/// What is made of times.
namespace tandem::cli::bench {

using Times = std::vector<std::chrono::nanoseconds>;

struct Spread {
  std::chrono::nanoseconds min{};
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p90{};
  std::chrono::nanoseconds p99{};
  std::chrono::nanoseconds max{};
};

/// Nearest ranks; nothing of no times.
[[nodiscard]] std::optional<Spread> spread_of(Times times);
/// Precondition: `times` is not empty.
[[nodiscard]] std::chrono::nanoseconds median_of(Times times);

/// How one mode compares with another, block by block.
struct Ratio {
  double median = 1;
  double lowest = 1;
  double highest = 1;
};

/// Of `times` to `base` over the blocks that both have; nothing without any.
[[nodiscard]] std::optional<Ratio> ratio_of(std::span<const std::chrono::nanoseconds> times,
                                            std::span<const std::chrono::nanoseconds> base);

/// What two measurements of the same thing differ by: the smallest r so that in nine blocks of ten `again` is within
/// r of `eager`, as a part of it. Nothing with fewer than two common blocks.
[[nodiscard]] std::optional<double> resolution_of(std::span<const std::chrono::nanoseconds> eager,
                                                  std::span<const std::chrono::nanoseconds> again);

/// Whether a ratio is one that nothing at all may have caused. False without a resolution.
[[nodiscard]] bool is_same(double ratio, std::optional<double> resolution) noexcept;

}  // namespace tandem::cli::bench
