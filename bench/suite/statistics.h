#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem::suite {

/// The middle and the ends of some numbers; zeros for none.
struct Spread {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> numbers);

/// The number that `percent` of the numbers do not exceed; 0 for none.
[[nodiscard]] double percentile(std::vector<double> numbers, double percent);

/// The numbers in the order in which they were taken, cut into at most `blocks` pieces of nearly equal length: the
/// median of each. Fewer numbers than blocks: each is a block.
[[nodiscard]] std::vector<double> block_medians(std::span<const double> numbers, std::size_t blocks);

/// Quotients, or differences, of what two ways took in the same blocks: what changes on the machine between blocks
/// cancels.
/// Shapes: both have the same length.
[[nodiscard]] Spread paired_ratios(std::span<const double> mine, std::span<const double> theirs);
[[nodiscard]] Spread paired_differences(std::span<const double> mine, std::span<const double> theirs);

}  // namespace tandem::suite
