#pragma once

#include "device/device.h"
#include "runtime/schedule.h"
#include "runtime/state.h"

#include <tandem/method.h>
#include <tandem/result.h>
#include <tandem/value.h>

#include <memory>
#include <span>

namespace tandem::runtime {

/// Whether an execution may become a part of a caller's capture: everything of it is the device's.
/// Errors: NotSupported, a step that no graph can hold, or an input or output on the host; InvalidState, the method's
/// own
///   state, which others may change between the graph's runs; InvalidArgument, events to wait for.
[[nodiscard]] Status may_be_captured(const Schedule& schedule, const ExecuteOptions& options);

/// Adds an execution to what `stream` captures: on an instance of its own, which the caller's graph keeps, with the
/// inputs, the outputs and the state. Nothing runs but, at sizes that no delegate has seen, a run on zeros elsewhere.
///
/// Precondition: may_be_captured(), checked inputs and outputs. `state` is null if the method has none.
/// Errors: OutOfMemory; NotSupported, a delegate that cannot be in a graph; what delegates and the driver say. Nothing
///   was added then.
[[nodiscard]] Status capture_run(const std::shared_ptr<const Schedule>& schedule, device::Device& device,
                                 std::shared_ptr<State> state, GraphPolicy graphs, std::span<const Value> inputs,
                                 std::span<Value> outputs, std::span<const Tensor> bound, device::Stream& stream);

}  // namespace tandem::runtime
