#include "runtime/execute/run.h"

#include "base/guarded.h"
#include "runtime/execute/inputs.h"

#include <string>
#include <utility>

namespace tandem::runtime {

Status Run::prepare(State* state, std::span<const Value> inputs, OutputPool& pool, std::span<const Tensor> bound,
                    bool at_slots) {
  at_slots_ = at_slots;
  state_ = state;
  inputs_ = inputs;
  cursor_ = {};
  begun_ = false;
  status_ = {};
  Status begun = outputs_.begin(pool, bound, at_slots);
  if (!begun.ok()) outputs_.abandon();
  return begun;
}

bool Run::copies_inputs_on_host() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_tensor() || inputs_[i].tensor().device() != DeviceId{}) continue;
    const Tensor& tensor = inputs_[i].tensor();
    if (!can_adopt(instance_.schedule(), tensor, i)) return true;
    if (outputs_.writes_to(tensor.data(), tensor.impl()->capacity_bytes)) return true;
  }
  return false;
}

Status Run::begin(device::Stream* stream) {
  if (state_ != nullptr && state_->is_indeterminate()) {
    return Error{ErrorCode::InvalidState, "an earlier execution failed and may have changed the state; reset it"}
        .with_method(std::string{instance_.schedule().method});
  }
  instance_.begin(state_);
  outputs_.begin(instance_);
  const auto must_copy = [this](const Tensor& tensor) {
    if (at_slots_ && tensor.device() != DeviceId{}) return true;
    return outputs_.writes_to(tensor.data(), tensor.impl()->capacity_bytes);
  };
  TANDEM_CHECK_OK(set_inputs(instance_, inputs_, must_copy, stream));
  instance_.place_views();
  return {};
}

Status Run::walk(StreamRef stream, std::uint64_t limit) {
  if (!std::exchange(begun_, true)) TANDEM_CHECK_OK(begin(nullptr));
  return run_steps(instance_, stream, cursor_, limit);
}

bool Run::advance(StreamRef stream, std::uint64_t limit, std::span<Value> values) noexcept {
  Status walked = base::guarded(ErrorCode::Internal, [&] { return walk(stream, limit); });
  if (walked.ok() && cursor_.next < instance_.schedule().steps.size()) return true;
  status_ = base::guarded(ErrorCode::Internal,
                          [&] { return finish(std::move(walked), cursor_.changed_state, values, nullptr); });
  return false;
}

Status Run::finish(Status ran, bool changed_state, std::span<Value> values, device::Stream* stream) {
  if (ran.ok()) ran = outputs_.collect(instance_, values, stream);
  if (!ran.ok() && changed_state && state_ != nullptr) state_->mark_indeterminate();
  outputs_.abandon();
  return ran;
}

}  // namespace tandem::runtime
