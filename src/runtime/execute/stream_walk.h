#pragma once

#include "device/stream.h"
#include "runtime/execute/lane.h"

#include <tandem/result.h>

namespace tandem::runtime {

/// Runs a schedule with the host walking along: steps go where Schedule::streams puts them, ordered by its events and
/// joins and by nothing else. `main` is stream 0. On the host device, and with several streams, it blocks until all
/// streams are done; else it returns when all is enqueued, having blocked only where the schedule joins.
///
/// Preconditions: the run has begun; the calling thread may wait; only delegates and operators are on streams.
/// Errors: as run_steps(), of the step that failed first. `changed_state` tells whether a step that may change state
///   was enqueued.
[[nodiscard]] Status walk_streams(Lane& lane, device::Stream& main, bool& changed_state);

}  // namespace tandem::runtime
