#include "runtime/lower/branch_clock.h"
#include "runtime/lower/lower.h"
#include "runtime/order/byte_history.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// The steps of one region that touched each byte last.
class RegionHistory {
 public:
  explicit RegionHistory(const Schedule& schedule) : schedule_{schedule} { tails_.fill(kNone); }

  /// The steps that step `index` has to come after; then notes it.
  std::vector<std::uint32_t> meet(std::uint32_t index) {
    const Step& step = schedule_.steps[index];
    const std::uint32_t branch = schedule_.branches.branch_of[index];
    std::vector<std::uint32_t> earlier;
    const auto meets = [&](const ByteHistory::Access& access, std::uint64_t /*begin*/, std::uint64_t /*end*/) {
      if (access.label != index) earlier.push_back(access.label);
    };
    for (const Access& access : schedule_.accesses_of(step)) {
      const ByteHistory::Access mine{.at = {.stream = branch, .action = index}, .label = index};
      ByteHistory& buffer = buffers_[access.buffer];
      if (access.mode == AccessMode::Read) {
        buffer.read(access.begin, access.end, mine, meets);
      } else {
        buffer.write(access.begin, access.end, mine, meets);
      }
    }
    if (tails_[branch] != kNone) earlier.push_back(tails_[branch]);  // they share scratch
    tails_[branch] = index;
    if (step.kind == Step::Kind::Delegate) {  // its calls share a context
      const auto [last, is_first] = calls_.try_emplace(step.target, index);
      if (!is_first) earlier.push_back(std::exchange(last->second, index));
    }
    return earlier;
  }

 private:
  const Schedule& schedule_;
  std::unordered_map<std::uint32_t, ByteHistory> buffers_{};
  std::unordered_map<std::uint32_t, std::uint32_t> calls_{};
  std::array<std::uint32_t, BranchPlan::kMax> tails_{};
};

}  // namespace

void order_branches(Schedule& schedule) {
  BranchPlan& plan = schedule.branches;
  if (!plan.any()) return;
  std::vector<std::vector<std::uint32_t>> after(schedule.steps.size());
  for (const Region& region : schedule.regions) {
    RegionHistory history{schedule};
    for (std::uint32_t i = region.first; i < region.end; ++i) {
      if (schedule.steps[i].kind == Step::Kind::Free) continue;
      after[i] = history.meet(i);
      plan.known[i] = clock_after(plan, region.first, after[i]);
    }
  }
  for (const auto& steps : after) {
    plan.first_after.push_back(static_cast<std::uint32_t>(plan.after.size()));
    plan.after.insert(plan.after.end(), steps.begin(), steps.end());
  }
  plan.first_after.push_back(static_cast<std::uint32_t>(plan.after.size()));
}

}  // namespace tandem::runtime
