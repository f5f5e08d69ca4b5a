#pragma once

#include "runtime/bind/instance.h"

#include <tandem/recorder.h>
#include <tandem/result.h>
#include <tandem/stream_ref.h>

#include <cstdint>

namespace tandem::runtime {

/// How far a run has come.
struct Cursor {
  std::uint32_t next = 0;      ///< Step; the number of steps: the run is over.
  std::uint64_t done = 0;      ///< Steps.
  bool changed_state = false;  ///< A step that may change state has begun.
};

/// Source: limit of ExecuTorch's Method::execute.
inline constexpr std::uint64_t kMaxStepsPerRun = 10'000'000;
/// NotSupported, at `step`: a loop that does not end.
[[nodiscard]] Error too_many_steps(const Schedule& schedule, std::uint32_t step);

/// Runs step `next` and moves it on to the step that follows. Where the step runs on `stream`, work that it enqueues
/// there goes before everything that comes later.
///
/// Errors: any of an operator or delegate, with the step's site.
[[nodiscard]] Status run_step(Instance& instance, StreamRef stream, std::uint32_t& next);

/// Puts the work of a step of the device into a graph, and leaves its results' sizes and numbers as a run would.
/// `stream` is where the graph will run; with `is_captured`, it captures, and gets the work of a delegate.
/// Errors: NotSupported, the step cannot be recorded; as run_step().
[[nodiscard]] Status record_step(Instance& instance, StreamRef stream, Recorder& recorder, bool is_captured,
                                 std::uint32_t step);

/// Gives the target of a Copy step the sizes of its source, as the step does.
/// Errors: as run_step().
[[nodiscard]] Status take_copied_sizes(Instance& instance, std::uint32_t step);

/// Walks at most `limit` steps on. Before the first, the instance has begun and its inputs and outputs have addresses.
///
/// Errors: as run_step(); NotSupported, more steps than the format allows in one run (a loop that does not end).
[[nodiscard]] Status run_steps(Instance& instance, StreamRef stream, Cursor& cursor, std::uint64_t limit = UINT32_MAX);

}  // namespace tandem::runtime
