#include "runtime/lower/branch_clock.h"
#include "runtime/lower/lower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// Who touched each value last, and who called each delegate: its calls share a context.
class LastUses {
 public:
  explicit LastUses(const Schedule& schedule)
      : schedule_{schedule},
        writer_(schedule.values.size(), kNone),
        readers_(schedule.values.size()),
        call_(schedule.delegates.size(), kNone) {}

  /// The steps, none before `first`, that step `index` has to come after; then notes it.
  std::vector<std::uint32_t> meet(std::uint32_t first, std::uint32_t index) {
    std::vector<std::uint32_t> earlier;
    const auto add = [&](std::uint32_t step) {
      if (step != kNone && step >= first && step != index) earlier.push_back(step);
    };
    const Step& step = schedule_.steps[index];
    if (step.kind == Step::Kind::Delegate) add(std::exchange(call_[step.target], index));
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      for (const std::uint32_t root : schedule_.values[value].roots) {
        add(writer_[root]);
        if (!writes(mode)) {
          readers_[root].push_back(index);
          continue;
        }
        for (const std::uint32_t reader : readers_[root]) add(reader);
        readers_[root].clear();
        writer_[root] = index;
      }
    });
    return earlier;
  }

 private:
  const Schedule& schedule_;
  std::vector<std::uint32_t> writer_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<std::uint32_t> call_;
};

/// The branch for a step that comes after `clock`: one whose last step is over by then, that of the latest such step,
/// or a new one; if there are too many, the one that was used longest ago.
std::uint32_t choose_branch(const BranchPlan::Clock& clock, const std::vector<std::uint32_t>& tails) {
  std::optional<std::uint32_t> free;
  std::uint32_t oldest = 0;
  for (std::uint32_t b = 0; b < tails.size(); ++b) {
    if (tails[b] < clock[b] && (!free || tails[b] > tails[*free])) free = b;
    if (tails[b] < tails[oldest]) oldest = b;
  }
  if (free) return *free;
  return tails.size() < BranchPlan::kMax ? static_cast<std::uint32_t>(tails.size()) : oldest;
}

}  // namespace

bool plans_branches(const MethodOptions& options) noexcept {
  return (options.graphs == GraphPolicy::Auto || options.graphs == GraphPolicy::Branches) && options.max_graphs != 0;
}

void find_branches(Schedule& schedule) {
  const auto is_jump = [](const Step& step) { return step.kind == Step::Kind::JumpFalse; };
  if (std::ranges::any_of(schedule.steps, is_jump)) return;
  BranchPlan plan;
  plan.branch_of.resize(schedule.steps.size());
  plan.known.resize(schedule.steps.size());
  for (BranchPlan::Clock& clock : plan.known) clock.fill(UINT32_MAX);  // outside of regions all is in order
  LastUses uses{schedule};
  bool any = false;
  for (Region& region : schedule.regions) {
    std::vector<std::uint32_t> tails;
    for (std::uint32_t i = region.first; i < region.end; ++i) {
      if (schedule.steps[i].kind == Step::Kind::Free) continue;
      std::vector<std::uint32_t> earlier = uses.meet(region.first, i);
      const std::uint32_t branch = choose_branch(clock_after(plan, region.first, earlier), tails);
      if (branch < tails.size()) {
        earlier.push_back(std::exchange(tails[branch], i));
      } else {
        tails.push_back(i);
      }
      plan.branch_of[i] = branch;
      plan.known[i] = clock_after(plan, region.first, earlier);
    }
    region.branches = static_cast<std::uint32_t>(tails.size());
    any = any || region.branches > 1;
  }
  if (any) schedule.branches = std::move(plan);
}

}  // namespace tandem::runtime
