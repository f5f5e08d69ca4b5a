#include "runtime/execute/region_parts.h"

#include <algorithm>
#include <utility>

namespace tandem::runtime {

RegionParts::RegionParts(const Schedule& schedule, const Region& region, bool side_by_side)
    : schedule_{schedule}, region_{region} {
  for (std::uint32_t step = region.first; step < region.end; ++step) {
    std::vector<std::uint32_t>& after = after_.emplace_back();
    if (side_by_side) {
      for (const std::uint32_t earlier : schedule.branches.after_of(step)) after.push_back(earlier - region.first);
    } else if (step != region.first) {
      after.push_back(step - 1 - region.first);
    }
  }
}

Status RegionParts::check(const device::GraphEdges& found) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = found.edges;
  std::ranges::sort(edges);
  const auto refuse = [this](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t first = region_.first;
    return Error{ErrorCode::OrderViolation, "the graph lacks an edge"}
        .with_expected(describe(schedule_, schedule_.steps[first + from]) + " before " +
                           describe(schedule_, schedule_.steps[first + to]),
                       "no edge")
        .with_site(site_of(schedule_, schedule_.steps[first + to]));
  };
  // Where a part is empty, what comes after it comes after the parts before it.
  std::vector<std::vector<std::uint32_t>> ends(after_.size());
  for (std::uint32_t part = 0; part < after_.size(); ++part) {
    std::vector<std::uint32_t> before;
    for (const std::uint32_t earlier : after_[part]) {
      before.insert(before.end(), ends[earlier].begin(), ends[earlier].end());
    }
    if (found.is_empty[part]) {
      ends[part] = std::move(before);
      continue;
    }
    ends[part].assign(1, part);
    if (!found.is_chain[part]) return refuse(part, part);
    for (const std::uint32_t earlier : before) {
      if (!std::ranges::binary_search(edges, std::pair{earlier, part})) return refuse(earlier, part);
    }
  }
  return {};
}

}  // namespace tandem::runtime
