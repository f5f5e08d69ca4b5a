#include "runtime/lower/lower.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// Limit on buffers in the host's memory within a graph's key. Flags and counters are there, no tables.
constexpr std::size_t kMaxKeyBytes = 4096;

std::size_t host_buffer_bytes(const DelegatePlan& delegate) {
  std::size_t bytes = 0;
  for (const MutableBuffer& buffer : delegate.buffers) bytes += buffer.on_host ? buffer.initial.size() : 0;
  return bytes;
}

void add_host_buffers(const Schedule& schedule, std::uint32_t delegate, Region& region) {
  const auto is_known = [delegate](const Region::HostBuffer& known) { return known.delegate == delegate; };
  if (std::ranges::any_of(region.host_buffers, is_known)) return;
  const std::span<const MutableBuffer> buffers = schedule.delegates[delegate].buffers;
  for (std::uint32_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].on_host) region.host_buffers.push_back({delegate, b});
  }
}

bool may_be_in_a_graph(const Schedule& schedule, const Step& step) {
  if (!is_on_device(schedule, step)) return false;
  if (step.kind == Step::Kind::Delegate) {
    const DelegatePlan& delegate = schedule.delegates[step.target];
    return (delegate.recordable || delegate.capturable) && host_buffer_bytes(delegate) <= kMaxKeyBytes;
  }
  const auto args = schedule.args_of(step);  // a copy; what crosses stays outside
  return schedule.values[args[0]].device == schedule.device && schedule.values[args[1]].device == schedule.device;
}

/// Notes the values of a step; outputs come last.
void add_uses(const Schedule& schedule, const Step& step, std::vector<bool>& known, Region& region) {
  const auto args = schedule.args_of(step);
  const std::size_t outputs =
      step.kind == Step::Kind::Delegate ? schedule.delegates[step.target].output_count : std::size_t{1};
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (known[args[i]]) continue;
    known[args[i]] = true;
    region.uses.push_back({args[i], i + outputs < args.size()});
  }
}

}  // namespace

std::vector<Region> find_regions(const Schedule& schedule) {
  std::vector<Region> regions;
  if (schedule.device == DeviceId{} || schedule.streams.streams != 1) return regions;
  std::vector<bool> is_target(schedule.steps.size() + 1);
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::JumpFalse) is_target[step.target] = true;
  }
  std::vector<bool> known;
  Region region;
  bool has_delegate = false;
  const auto close = [&] {
    if (has_delegate) regions.push_back(std::move(region));
    region = {};
    has_delegate = false;
  };
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (is_target[i]) close();
    if (may_be_in_a_graph(schedule, step)) {
      if (region.end == 0) {
        region.first = i;
        known.assign(schedule.values.size(), false);
      }
      region.end = i + 1;
      region.changes_state = region.changes_state || step.changes_state;
      add_uses(schedule, step, known, region);
      if (step.kind != Step::Kind::Delegate) continue;
      has_delegate = true;
      region.stateful = region.stateful || schedule.delegates[step.target].stateful;
      add_host_buffers(schedule, step.target, region);
    } else if (step.kind != Step::Kind::Free) {  // which does nothing
      close();
    }
  }
  close();
  return regions;
}

}  // namespace tandem::runtime
