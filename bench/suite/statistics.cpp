#include "bench/suite/statistics.h"

#include <algorithm>
#include <cmath>

namespace tandem::suite {
namespace {

double median_of(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

template <class Pair>
Spread paired(std::span<const double> mine, std::span<const double> theirs, Pair&& pair) {
  std::vector<double> pairs;
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) pairs.push_back(pair(mine[i], theirs[i]));
  return spread_of(std::move(pairs));
}

}  // namespace

Spread spread_of(std::vector<double> numbers) {
  if (numbers.empty()) return {};
  const double median = median_of(numbers);
  return {median, numbers.front(), numbers.back()};
}

double percentile(std::vector<double> numbers, double percent) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(numbers.size()));
  return numbers[std::min(numbers.size(), static_cast<std::size_t>(std::max(rank, 1.0))) - 1];
}

std::vector<double> block_medians(std::span<const double> numbers, std::size_t blocks) {
  std::vector<double> medians;
  const std::size_t count = std::min(blocks, numbers.size());
  for (std::size_t b = 0; b < count; ++b) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(b * numbers.size() / count);
    const auto end = numbers.begin() + static_cast<std::ptrdiff_t>((b + 1) * numbers.size() / count);
    std::vector<double> block(begin, end);
    medians.push_back(median_of(block));
  }
  return medians;
}

Spread paired_ratios(std::span<const double> mine, std::span<const double> theirs) {
  return paired(mine, theirs, [](double a, double b) { return b > 0 ? a / b : 0; });
}

Spread paired_differences(std::span<const double> mine, std::span<const double> theirs) {
  return paired(mine, theirs, [](double a, double b) { return a - b; });
}

}  // namespace tandem::suite
