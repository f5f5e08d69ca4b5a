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

/// Steps of the device on the stream that `stream_of` says, all others on the host, which joins before them.
template <class StreamOf>
StreamPlan host_walks_along(const Schedule& schedule, std::uint32_t streams, StreamOf&& stream_of) {
  StreamPlan plan;
  plan.streams = streams;
  plan.stream_of.reserve(schedule.steps.size());
  std::vector<bool> is_target(schedule.steps.size() + 1);
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::JumpFalse) is_target[step.target] = true;
  }
  bool pending = false;  // work that the host has not waited for
  const auto join = [&plan, &pending](std::size_t step) {
    if (pending) plan.syncs.push_back({.kind = StreamPlan::Sync::Kind::Join, .step = static_cast<std::uint32_t>(step)});
    pending = false;
  };
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (is_target[i]) join(i);
    const std::uint32_t stream = stream_of(step);
    plan.stream_of.push_back(stream);
    if (stream != kNone) {
      pending = true;
    } else if (step.kind != Step::Kind::Free) {  // which touches nothing
      join(i);
    }
  }
  if (streams > 1) join(schedule.steps.size());
  return plan;
}

}  // namespace

StreamPlan plan_streams(const Schedule& schedule, StreamPolicy policy) {
  const bool on_host = schedule.device == DeviceId{};
  if (policy == StreamPolicy::PerDelegate) {
    const auto streams = 1 + static_cast<std::uint32_t>(schedule.delegates.size());
    return host_walks_along(schedule, streams, [&](const Step& step) {
      if (step.kind == Step::Kind::Delegate && (on_host || is_on_device(schedule, step))) return 1 + step.target;
      return is_on_device(schedule, step) ? 0U : kNone;
    });
  }
  if (!on_host) {
    return host_walks_along(schedule, 1, [&](const Step& step) { return is_on_device(schedule, step) ? 0U : kNone; });
  }
  StreamPlan plan;
  plan.stream_of.assign(schedule.steps.size(), 0);
  return plan;
}

}  // namespace runtime
}  // namespace tandem
