#include "cli/bench/driver_counts.h"

#include <string_view>

namespace tandem::cli::bench {

DriverCounts sort_calls(const std::map<std::string, double>& calls) {
  DriverCounts counts;
  for (const auto& [name, count] : calls) {
    const std::string_view call = name;
    if (call.starts_with("cuLaunch") || call.starts_with("cuGraphLaunch")) counts.launches += count;
    if (call.starts_with("cuMemcpy") || call.starts_with("cuMemset")) counts.copies += count;
    if (call.starts_with("cuStreamSynchronize") || call.starts_with("cuEventSynchronize") ||
        call.starts_with("cuCtxSynchronize")) {
      counts.waits += count;
    }
  }
  return counts;
}

}  // namespace tandem::cli::bench
