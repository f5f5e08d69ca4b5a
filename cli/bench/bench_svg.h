#pragma once

#include "cli/bench/report.h"

#include <string>
#include <vector>

namespace tandem::cli::bench {

/// The table as a picture: a bar for the median of each mode, with the part that is the call alone, and below how all
/// its times are distributed.
///
/// Errors: InvalidState, nothing was measured, or the table is void.
[[nodiscard]] Result<std::string> bench_svg(const BenchReport& report);

/// Marks of an axis from 0 to at least `max`: at most six, at 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> axis_marks(double max);
/// Marks of a logarithmic axis that covers [min, max], both above 0: 1, 2 and 5 times powers of ten.
[[nodiscard]] std::vector<double> log_marks(double min, double max);

}  // namespace tandem::cli::bench
