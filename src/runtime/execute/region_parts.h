#pragma once

#include "device/graph.h"
#include "runtime/schedule.h"

#include <tandem/result.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::runtime {

/// A region's steps as the parts of a graph, one each: what a graph is asked for, and what it is held against.
class RegionParts {
 public:
  /// In a row, each step comes after the one before; side by side, after those that the schedule names.
  RegionParts(const Schedule& schedule, const Region& region, bool side_by_side);

  /// The parts that the one of `step` comes after.
  [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t step) const noexcept {
    return after_[step - region_.first];
  }
  /// Errors: OrderViolation, the graph lacks an edge; names both steps.
  [[nodiscard]] Status check(const device::GraphEdges& found) const;

 private:
  const Schedule& schedule_;
  const Region& region_;
  std::vector<std::vector<std::uint32_t>> after_{};
};

}  // namespace tandem::runtime
