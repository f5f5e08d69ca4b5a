#include "runtime/work_count.h"

namespace tandem::runtime {
namespace {

void add_copy(const Schedule& schedule, const Step& step, WorkCount& work) noexcept {
  const ValuePlan& from = schedule.values[schedule.args_of(step)[0]];
  const ValuePlan& to = schedule.values[schedule.args_of(step)[1]];
  const bool leaves = from.device == schedule.device;
  const bool arrives = to.device == schedule.device;
  WorkCount::Copies& copies = !leaves ? work.to_device : arrives ? work.on_device : work.to_host;
  ++copies.count;
  copies.bytes += to.place.bytes;
}

}  // namespace

WorkCount count_work(const Schedule& schedule) noexcept {
  WorkCount work;
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::Free) continue;
    ++work.steps;
    if (step.kind == Step::Kind::Delegate) ++work.delegates;
    if (step.kind == Step::Kind::Kernel) ++work.operators;
    if (step.kind == Step::Kind::Copy) add_copy(schedule, step, work);
  }
  for (const StreamPlan::Sync& sync : schedule.streams.syncs) {
    if (sync.kind == StreamPlan::Sync::Kind::Join) ++work.host_waits;
  }
  return work;
}

}  // namespace tandem::runtime
