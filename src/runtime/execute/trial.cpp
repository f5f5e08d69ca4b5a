#include "runtime/execute/trial.h"

#include <algorithm>
#include <span>

namespace tandem::runtime {

void Trial::add(Way way, Span span, std::chrono::nanoseconds time) {
  const std::scoped_lock lock{mutex_};
  if (verdict() != Verdict::Open) return;
  if (span != span_) times_ = {};
  span_ = span;
  Times& mine = times_[static_cast<std::size_t>(way)];
  if (mine.count == kSamples) return;  // runs of several threads do not alternate exactly
  mine.all[mine.count++] = time;
  const std::span tried = std::span{times_}.first(ways_);
  if (std::ranges::any_of(tried, [](const Times& one) { return one.count < kSamples; })) return;
  for (Times& one : tried) std::ranges::sort(one.all);
  const auto at_half = [this](Way which) { return times_[static_cast<std::size_t>(which)].all[kSamples / 2]; };
  Way best = at_half(Way::Graph) <= at_half(Way::Steps) ? Way::Graph : Way::Steps;
  if (ways_ == 3 && span_ != Span::Enqueueing && at_half(Way::Branches) < at_half(best) * (1 - kMargin))
    best = Way::Branches;
  verdict_.store(static_cast<Verdict>(best), std::memory_order_release);
}

std::chrono::nanoseconds Trial::median(Way way) const {
  const std::scoped_lock lock{mutex_};
  if (verdict() == Verdict::Open) return {};
  return times_[static_cast<std::size_t>(way)].all[kSamples / 2];
}

}  // namespace tandem::runtime
