#pragma once

#include "runtime/execute/eager.h"
#include "runtime/execute/outputs.h"
#include "runtime/state.h"

#include <tandem/result.h>
#include <tandem/value.h>

#include <cstdint>
#include <span>

namespace tandem::runtime {

/// One run of an instance, from its inputs to its outputs.
///
/// Lifetime: the instance and what prepare() is given outlive the run.
/// Thread-safety: none; prepare() on the thread that enqueues, the rest in the order of the stream.
class Run {
 public:
  explicit Run(Instance& instance) : instance_{instance}, outputs_{instance.schedule()} {}

  /// `state` is null if the method has none. `at_slots`: steps on the device use memory of the instance's for inputs
  /// and outputs, and what is the caller's is copied there and from there. Errors: OutOfMemory.
  [[nodiscard]] Status prepare(State* state, std::span<const Value> inputs, OutputPool& pool,
                               std::span<const Tensor> bound, bool at_slots = false);
  [[nodiscard]] Instance& instance() const noexcept { return instance_; }
  [[nodiscard]] State* state() const noexcept { return state_; }
  [[nodiscard]] std::span<const Value> inputs() const noexcept { return inputs_; }
  /// Where outputs end up, as announce().
  [[nodiscard]] std::span<const Tensor> outputs() const noexcept { return outputs_.destinations(); }
  /// All memory that steps and finish() write outputs to.
  [[nodiscard]] std::span<const Tensor> written() const noexcept { return outputs_.memory(); }
  /// Tensors that the run will fill; one entry per output, others are left alone.
  void announce(std::span<Value> values) const { outputs_.announce(values); }

  /// Whether begin() or finish() will move bytes on the host: then no other work may use the instance at that time.
  [[nodiscard]] bool copies_inputs_on_host() const;
  [[nodiscard]] bool copies_outputs_on_host() const noexcept { return outputs_.copies_on_host(); }
  /// Puts the instance at the start: values, state, addresses of inputs and outputs. `stream` is that of a run on a
  /// device; null on the host device.
  /// Errors: InvalidState, the state is indeterminate; as set_inputs().
  [[nodiscard]] Status begin(device::Stream* stream);
  /// Walks at most `limit` steps on; the first call begins, the last one writes the outputs to `values`. Whether there
  /// is more to do. After a failure there is not.
  [[nodiscard]] bool advance(StreamRef stream, std::uint64_t limit, std::span<Value> values) noexcept;
  /// Ends the run: writes the outputs if `ran` is good, else marks what the run may have spoilt. Lets go of the outputs
  /// in either case. Errors: `ran`; InvalidArgument, as Outputs::collect().
  [[nodiscard]] Status finish(Status ran, bool changed_state, std::span<Value> values, device::Stream* stream);
  /// Of the run that is over.
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  [[nodiscard]] Status walk(StreamRef stream, std::uint64_t limit);

  Instance& instance_;
  Outputs outputs_;
  State* state_ = nullptr;
  std::span<const Value> inputs_{};
  Cursor cursor_{};
  bool begun_ = false;
  bool at_slots_ = false;
  Status status_{};
};

}  // namespace tandem::runtime
