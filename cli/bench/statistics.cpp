#include "cli/bench/statistics.h"

#include "cli/timing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tandem::cli::bench {
namespace {

/// Block by block; a time of 0 is below the clock's resolution and counts as a nanosecond.
std::vector<double> ratios(std::span<const std::chrono::nanoseconds> times,
                           std::span<const std::chrono::nanoseconds> base) {
  std::vector<double> all(std::min(times.size(), base.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto count = [](std::chrono::nanoseconds time) {
      return static_cast<double>(std::max<std::int64_t>(time.count(), 1));
    };
    all[i] = count(times[i]) / count(base[i]);
  }
  return all;
}

/// Of ascending numbers.
double nearest_rank(std::span<const double> sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

std::optional<Spread> spread_of(Times times) {
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  return Spread{.min = times.front(),
                .p50 = percentile(times, 50),
                .p90 = percentile(times, 90),
                .p99 = percentile(times, 99),
                .max = times.back()};
}

std::chrono::nanoseconds median_of(Times times) {
  std::sort(times.begin(), times.end());
  return percentile(times, 50);
}

std::optional<Ratio> ratio_of(std::span<const std::chrono::nanoseconds> times,
                              std::span<const std::chrono::nanoseconds> base) {
  std::vector<double> all = ratios(times, base);
  if (all.empty()) return std::nullopt;
  std::sort(all.begin(), all.end());
  return Ratio{.median = nearest_rank(all, 0.5), .lowest = all.front(), .highest = all.back()};
}

std::optional<double> resolution_of(std::span<const std::chrono::nanoseconds> eager,
                                    std::span<const std::chrono::nanoseconds> again) {
  std::vector<double> all = ratios(again, eager);
  if (all.size() < 2) return std::nullopt;
  for (double& ratio : all) ratio = std::abs(ratio - 1);
  std::sort(all.begin(), all.end());
  return nearest_rank(all, 0.9);
}

bool is_same(double ratio, std::optional<double> resolution) noexcept {
  return resolution.has_value() && std::abs(ratio - 1) <= *resolution;
}

}  // namespace tandem::cli::bench
