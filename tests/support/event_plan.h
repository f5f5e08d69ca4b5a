#pragma once

#include "runtime/schedule.h"

namespace tandem::testing {

/// A correct plan with a stream per delegate: every conflicting pair of steps is ordered by a recorded event where
/// nothing else orders it, side streams start after stream 0, and stream 0 waits for them at the end. Steps that are no
/// delegates run on the host, which joins before them and before jump targets, as in StreamPolicy::PerDelegate.
///
/// Every wait but those before step 0 is needed: without it, the two steps of wait_edge() (planted_faults.h) are
/// unordered. It looks at all pairs of steps; meant for small schedules.
[[nodiscard]] runtime::StreamPlan event_plan(const runtime::Schedule& schedule);

}  // namespace tandem::testing
