#include "runtime/lower/branch_clock.h"

#include <algorithm>
#include <functional>

namespace tandem::runtime {

BranchPlan::Clock clock_after(const BranchPlan& plan, std::uint32_t first, std::vector<std::uint32_t>& steps) {
  BranchPlan::Clock clock;
  clock.fill(first);
  std::ranges::sort(steps, std::greater<>{});  // a later step may imply an earlier one, never the other way round
  std::erase_if(steps, [&](std::uint32_t step) {
    if (step < clock[plan.branch_of[step]]) return true;
    for (std::uint32_t b = 0; b < clock.size(); ++b) clock[b] = std::max(clock[b], plan.known[step][b]);
    clock[plan.branch_of[step]] = step + 1;
    return false;
  });
  return clock;
}

}  // namespace tandem::runtime
