#pragma once

#include "device/stream.h"
#include "runtime/execute/lane.h"

#include <tandem/result.h>

namespace tandem::runtime {

/// Runs a schedule over several streams: steps go where Schedule::streams puts them, ordered by its events and joins
/// and by nothing else; the host walks along. `main` is stream 0. Blocks until all streams are done.
///
/// Preconditions: the run has begun; the calling thread may wait; only delegates and operators are on streams.
/// Errors: as run_steps(), of the step that failed first. `changed_state` tells whether a step that may change state
///   was enqueued.
[[nodiscard]] Status walk_streams(Lane& lane, device::Stream& main, bool& changed_state);

}  // namespace tandem::runtime
