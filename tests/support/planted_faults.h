#pragma once

#include "runtime/schedule.h"

#include <cstddef>
#include <cstdint>

/// Faults that an order check must find, planted in a plan or schedule that has none.
namespace tandem::testing {

/// Waits are counted without those before step 0, which only order the run after what came before it.
[[nodiscard]] std::size_t wait_count(const runtime::StreamPlan& plan);
[[nodiscard]] std::size_t join_count(const runtime::StreamPlan& plan);

/// What the n-th wait orders: the last step before the record of its event (kNone: there is none), and the step that it
/// stands before (the number of steps: the end).
struct WaitEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};
[[nodiscard]] WaitEdge wait_edge(const runtime::StreamPlan& plan, std::size_t n);

/// A dropped event: the plan without its n-th wait.
[[nodiscard]] runtime::StreamPlan drop_wait(runtime::StreamPlan plan, std::size_t n);
/// A wrong event: the n-th wait waits for `event` instead.
[[nodiscard]] runtime::StreamPlan retarget_wait(runtime::StreamPlan plan, std::size_t n, std::uint32_t event);
/// A missing join: the plan without its n-th join.
[[nodiscard]] runtime::StreamPlan drop_join(runtime::StreamPlan plan, std::size_t n);

/// Overlapping slots or an undeclared alias: `value` lies at the first bytes of `other`, and nothing says so but the
/// places and accesses. Both own bytes of one arena that are long enough.
void place_over(runtime::Schedule& schedule, std::uint32_t value, std::uint32_t other);

}  // namespace tandem::testing
