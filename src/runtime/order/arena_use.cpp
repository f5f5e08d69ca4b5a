#include "runtime/order/arena_use.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::runtime {

std::vector<std::uint64_t> find_live_bytes(const Schedule& schedule, std::span<const Lifetime> lifetimes,
                                           std::span<const std::uint32_t> values) {
  // First what comes with each step, less what went with the step before. Sums that overflow wrap: no machine has so
  // much memory.
  std::vector<std::uint64_t> live(schedule.steps.size() + 2);
  for (const std::uint32_t value : values) {
    const Lifetime& lifetime = lifetimes[value];
    if (lifetime.spans.empty()) continue;
    live[lifetime.first()] += schedule.values[value].place.bytes;
    live[lifetime.last() + 1] -= schedule.values[value].place.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

std::vector<ArenaUse> find_arena_use(const Schedule& schedule) {
  const std::vector<Lifetime> lifetimes = find_lifetimes(schedule);
  std::vector<std::vector<std::uint32_t>> in_buffer(schedule.buffers.size());
  for (std::uint32_t v = 0; v < schedule.values.size(); ++v) {
    const std::uint32_t buffer = schedule.values[v].place.buffer;
    if (buffer != kNone) in_buffer[buffer].push_back(v);
  }
  std::vector<ArenaUse> arenas;
  for (std::uint32_t b = 0; b < schedule.buffers.size(); ++b) {
    if (schedule.buffers[b].kind != BufferPlan::Kind::Arena) continue;
    ArenaUse use{
        .buffer = b, .bytes = schedule.buffers[b].bytes, .live = find_live_bytes(schedule, lifetimes, in_buffer[b])};
    const auto peak = std::ranges::max_element(use.live);
    use.peak_bytes = *peak;
    use.peak_step = static_cast<std::uint32_t>(peak - use.live.begin());
    for (const std::uint32_t v : in_buffer[b]) {
      const Location& place = schedule.values[v].place;
      const Lifetime& lifetime = lifetimes[v];
      const bool touched = !lifetime.spans.empty();
      use.values.push_back({.value = v,
                            .first = touched ? lifetime.first() : kNone,
                            .last = touched ? lifetime.last() : kNone,
                            .offset = place.offset,
                            .bytes = place.bytes});
    }
    arenas.push_back(std::move(use));
  }
  return arenas;
}

}  // namespace tandem::runtime
