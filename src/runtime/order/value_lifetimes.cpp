#include "runtime/order/value_lifetimes.h"

#include <algorithm>

namespace tandem::runtime {

void Lifetime::touch(std::uint32_t step, std::uint32_t branch) {
  const auto at = std::ranges::find(spans, branch, &Span::branch);
  if (at == spans.end()) {
    spans.push_back({branch, step, step});
  } else {
    at->last = step;
  }
}

std::uint32_t Lifetime::first() const noexcept { return std::ranges::min_element(spans, {}, &Span::first)->first; }

std::uint32_t Lifetime::last() const noexcept { return std::ranges::max_element(spans, {}, &Span::last)->last; }

std::vector<Lifetime> find_lifetimes(const Schedule& schedule) {
  std::vector<Lifetime> lifetimes(schedule.values.size());
  const auto end = static_cast<std::uint32_t>(schedule.steps.size());
  const auto touch = [&](std::uint32_t value, std::uint32_t step) {
    for (const std::uint32_t root : schedule.values[value].roots) {
      lifetimes[root].touch(step, step == end ? 0 : schedule.branches.of(step));
    }
  };
  for (std::uint32_t i = 0; i < end; ++i) {
    for_each_tensor(schedule, schedule.steps[i], [&](std::uint32_t value, OpAccess /*mode*/) { touch(value, i); });
  }
  for (const std::uint32_t output : schedule.outputs) touch(output, end);
  return lifetimes;
}

bool before(const BranchPlan& branches, const Lifetime& a, const Lifetime& b) noexcept {
  return std::ranges::all_of(a.spans, [&](const Lifetime::Span& x) {
    return std::ranges::all_of(b.spans, [&](const Lifetime::Span& y) { return branches.before(x.last, y.first); });
  });
}

}  // namespace tandem::runtime
