#include "runtime/execute/trial.h"

#include <algorithm>

namespace tandem::runtime {

void Trial::add(Way way, Span span, std::chrono::nanoseconds time) {
  const std::scoped_lock lock{mutex_};
  if (verdict() != Verdict::Open) return;
  if (span != span_) times_ = {};
  span_ = span;
  Times& mine = times_[static_cast<std::size_t>(way)];
  if (mine.count == kSamples) return;  // runs of several threads do not alternate exactly
  mine.all[mine.count++] = time;
  if (std::ranges::any_of(times_, [](const Times& one) { return one.count < kSamples; })) return;
  for (Times& one : times_) std::ranges::sort(one.all);
  const auto at_half = [this](Way which) { return times_[static_cast<std::size_t>(which)].all[kSamples / 2]; };
  verdict_.store(at_half(Way::Graph) <= at_half(Way::Steps) ? Verdict::Graph : Verdict::Steps,
                 std::memory_order_release);
}

std::chrono::nanoseconds Trial::median(Way way) const {
  const std::scoped_lock lock{mutex_};
  if (verdict() == Verdict::Open) return {};
  return times_[static_cast<std::size_t>(way)].all[kSamples / 2];
}

}  // namespace tandem::runtime
