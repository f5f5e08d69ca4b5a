#include "runtime/lower/lower.h"

#include <algorithm>

namespace tandem::runtime {
namespace {

/// Adds `more` to the sorted set `roots`; whether it grew.
bool merge(std::vector<std::uint32_t>& roots, const std::vector<std::uint32_t>& more) {
  const std::size_t before = roots.size();
  std::vector<std::uint32_t> merged;
  merged.reserve(before + more.size());
  std::set_union(roots.begin(), roots.end(), more.begin(), more.end(), std::back_inserter(merged));
  roots = std::move(merged);
  return roots.size() != before;
}

}  // namespace

void find_roots(Schedule& schedule) {
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  std::vector<Edge> edges;
  std::vector<bool> is_view(schedule.values.size());
  std::vector<bool> is_written(schedule.values.size());
  for (const Step& step : schedule.steps) {
    const auto args = schedule.args_of(step);
    const auto modes = schedule.modes_of(step);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (modes[i] != OpAccess::Alias) continue;
      edges.push_back({args[0], args[i]});
      is_view[args[i]] = true;
    }
    for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
      if (writes(mode)) is_written[value] = true;
    });
  }
  for (std::uint32_t i = 0; i < schedule.values.size(); ++i) {
    if (schedule.source_of(i) == i) continue;
    edges.push_back({schedule.source_of(i), i});
    is_view[i] = true;
  }
  for (std::uint32_t i = 0; i < schedule.values.size(); ++i) {
    if (!schedule.stored[i].is_tensor()) continue;
    // A view that steps also write may do so before it becomes one: then its own memory counts.
    const ValuePlan& plan = schedule.values[i];
    const bool own_memory = !is_view[i] || plan.place.buffer != kNone || (is_written[i] && plan.planned_memory_id != 0);
    schedule.values[i].roots.clear();
    if (own_memory) schedule.values[i].roots = {i};
  }
  // Views of views settle in as many rounds as they are deep; programs list them in order, so mostly in one.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& edge : edges) {
      if (edge.from == edge.to) continue;
      const std::vector<std::uint32_t> sources = schedule.values[edge.from].roots;
      changed = merge(schedule.values[edge.to].roots, sources) || changed;
    }
  }
}

}  // namespace tandem::runtime
