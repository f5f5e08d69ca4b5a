#include "runtime/lower/lower.h"

namespace tandem {

std::string_view name_of(StreamPolicy policy) noexcept {
  switch (policy) {
    case StreamPolicy::PerThread:
      return "per-thread";
    case StreamPolicy::PerMethod:
      return "per-method";
    case StreamPolicy::PerDelegate:
      return "per-delegate";
  }
  return "unknown";
}

namespace runtime {
namespace {

StreamPlan stream_per_delegate(const Schedule& schedule) {
  StreamPlan plan;
  plan.streams = 1 + static_cast<std::uint32_t>(schedule.delegates.size());
  plan.stream_of.reserve(schedule.steps.size());
  std::vector<bool> is_target(schedule.steps.size() + 1);
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::JumpFalse) is_target[step.target] = true;
  }
  bool pending = false;  // delegates that the host has not waited for
  const auto join = [&plan, &pending](std::size_t step) {
    if (pending) plan.syncs.push_back({.kind = StreamPlan::Sync::Kind::Join, .step = static_cast<std::uint32_t>(step)});
    pending = false;
  };
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (is_target[i]) join(i);
    if (step.kind == Step::Kind::Delegate) {
      plan.stream_of.push_back(1 + step.target);
      pending = true;
    } else {
      join(i);
      plan.stream_of.push_back(kNone);
    }
  }
  join(schedule.steps.size());
  return plan;
}

}  // namespace

StreamPlan plan_streams(const Schedule& schedule, StreamPolicy policy) {
  if (policy == StreamPolicy::PerDelegate) return stream_per_delegate(schedule);
  StreamPlan plan;
  plan.stream_of.assign(schedule.steps.size(), 0);
  return plan;
}

}  // namespace runtime
}  // namespace tandem
