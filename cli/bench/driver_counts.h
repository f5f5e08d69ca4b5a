#pragma once

#include <map>
#include <string>

namespace tandem::cli::bench {

/// Calls of the driver in one run, sorted by what they are for. The rest are questions of tens of nanoseconds, records
/// of events, and waits of one stream for another.
struct DriverCounts {
  double launches = 0;  ///< Kernels and graphs.
  double copies = 0;    ///< Copies and fills.
  double waits = 0;     ///< Of the host.
};

[[nodiscard]] DriverCounts sort_calls(const std::map<std::string, double>& calls);

}  // namespace tandem::cli::bench
