#include "support/planted_faults.h"

#include "runtime/lower/lower.h"

#include <algorithm>

namespace tandem::testing {
namespace {

using runtime::StreamPlan;
using Sync = StreamPlan::Sync;

bool is_counted_wait(const Sync& sync) { return sync.kind == Sync::Kind::Wait && sync.step != 0; }
bool is_join(const Sync& sync) { return sync.kind == Sync::Kind::Join; }

template <class Plan, class Is>
auto find_sync(Plan& plan, std::size_t n, Is&& is) {
  return std::find_if(plan.syncs.begin(), plan.syncs.end(), [&](const Sync& sync) { return is(sync) && n-- == 0; });
}

}  // namespace

std::size_t wait_count(const StreamPlan& plan) {
  return static_cast<std::size_t>(std::count_if(plan.syncs.begin(), plan.syncs.end(), is_counted_wait));
}

std::size_t join_count(const StreamPlan& plan) {
  return static_cast<std::size_t>(std::count_if(plan.syncs.begin(), plan.syncs.end(), is_join));
}

WaitEdge wait_edge(const StreamPlan& plan, std::size_t n) {
  const auto wait = find_sync(plan, n, is_counted_wait);
  const auto record = std::find_if(plan.syncs.begin(), plan.syncs.end(), [&wait](const Sync& sync) {
    return sync.kind == Sync::Kind::Record && sync.event == wait->event;
  });
  std::uint32_t from = record->step;
  while (from > 0 && plan.stream_of[from - 1] != record->stream) --from;
  return {.from = from == 0 ? runtime::kNone : from - 1, .to = wait->step};
}

StreamPlan drop_wait(StreamPlan plan, std::size_t n) {
  plan.syncs.erase(find_sync(plan, n, is_counted_wait));
  return plan;
}

StreamPlan retarget_wait(StreamPlan plan, std::size_t n, std::uint32_t event) {
  find_sync(plan, n, is_counted_wait)->event = event;
  return plan;
}

StreamPlan drop_join(StreamPlan plan, std::size_t n) {
  plan.syncs.erase(find_sync(plan, n, is_join));
  return plan;
}

void place_over(runtime::Schedule& schedule, std::uint32_t value, std::uint32_t other) {
  schedule.values[value].place.offset = schedule.values[other].place.offset;
  schedule.accesses.clear();
  runtime::collect_accesses(schedule);
}

}  // namespace tandem::testing
