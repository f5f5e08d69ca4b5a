#pragma once

#include "runtime/schedule.h"

#include <cstdint>
#include <vector>

namespace tandem::runtime {

/// What is over before a step that comes after `steps`, all of them of the region that begins at `first`. Those of
/// `steps` that others imply are dropped.
[[nodiscard]] BranchPlan::Clock clock_after(const BranchPlan& plan, std::uint32_t first,
                                            std::vector<std::uint32_t>& steps);

}  // namespace tandem::runtime
