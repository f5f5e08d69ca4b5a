#include "runtime/execute/captured_run.h"

#include "device/graph_owners.h"
#include "device/tensor_impl.h"
#include "runtime/execute/inputs.h"
#include "runtime/execute/lane.h"
#include "runtime/execute/stream_walk.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

bool is_on_host(const Schedule& schedule, std::uint32_t value) {
  return schedule.stored[value].is_tensor() && schedule.values[value].device == DeviceId{};
}

/// What the caller's graph needs as long as it lives. Goes without a call of its own: members in reverse.
struct Captured {
  std::shared_ptr<const Schedule> schedule{};
  std::shared_ptr<State> state{};
  std::vector<Value> inputs{};
  std::vector<Value> outputs{};
  std::unique_ptr<Lane> lane{};
};

class Capturer {
 public:
  Capturer(std::shared_ptr<Captured> captured, device::Device& device, GraphPolicy graphs)
      : captured_{std::move(captured)},
        device_{device},
        instance_{captured_->lane->instance()},
        graphs_{instance_, device, graphs, 1},
        run_{instance_} {}

  Status add_to(device::Stream& stream, std::span<const Tensor> bound) {
    TANDEM_TRY(own_stream_, device_.make_stream());
    TANDEM_CHECK_OK(run_.prepare(captured_->state.get(), captured_->inputs, captured_->lane->outputs(), bound));
    Status added = record();
    if (added.ok()) added = add_recorded(stream);
    return run_.finish(std::move(added), false, captured_->outputs, &stream);
  }

 private:
  Status record() {
    TANDEM_CHECK_OK(wait_for_conflicts());
    TANDEM_CHECK_OK(run_.begin(own_stream_.get()));
    auto recorded = graphs_.record_all(*own_stream_);
    if (!recorded.ok() && recorded.error().code() == ErrorCode::NotSupported && captured_->state == nullptr) {
      TANDEM_CHECK_OK(run_on_zeros());
      TANDEM_CHECK_OK(run_.begin(own_stream_.get()));
      recorded = graphs_.record_all(*own_stream_);
    }
    TANDEM_TRY(recorded_, std::move(recorded));
    return own_stream_->synchronize();
  }

  /// The caller's graph runs later than now, in an order that only the caller knows; what is under way now is over
  /// then.
  Status wait_for_conflicts() {
    if (captured_->state != nullptr) TANDEM_CHECK_OK(captured_->state->order().uses.synchronize());
    const auto wait = [](const Tensor& tensor) -> Status {
      const device::Uses* const uses = tensor.defined() ? tensor.impl()->known_uses() : nullptr;
      return uses == nullptr ? Status{} : uses->synchronize();
    };
    for (const Value& input : captured_->inputs) {
      if (input.is_tensor()) TANDEM_CHECK_OK(wait(input.tensor()));
    }
    for (const Tensor& target : run_.written()) TANDEM_CHECK_OK(wait(target));
    return {};
  }

  /// A delegate has to have run once at these sizes, and the caller's inputs may hold nothing yet.
  Status run_on_zeros() {
    std::vector<device::Buffer> zeros;
    for (std::size_t i = 0; i < captured_->inputs.size(); ++i) {
      if (!captured_->inputs[i].is_tensor()) continue;
      TensorArg& input = instance_.value(instance_.schedule().inputs[i].value).tensor;
      TANDEM_TRY(device::Buffer zero, device_.allocate(input.nbytes()));
      TANDEM_CHECK_OK(own_stream_->fill(zero.data(), std::byte{0}, zero.size()));
      input.data = zero.data();
      zeros.push_back(std::move(zero));
    }
    instance_.place_views();
    bool changed_state = false;
    Status ran = walk_streams(*captured_->lane, *own_stream_, changed_state);
    Status over = own_stream_->synchronize();
    return ran.ok() ? std::move(over) : std::move(ran);
  }

  Status add_recorded(device::Stream& stream) {
    TANDEM_CHECK_OK(run_.begin(&stream));  // with the copies of inputs that cannot be used in place
    for (const auto& one : recorded_) TANDEM_CHECK_OK(one->add_to_capture(stream, captured_));
    return {};
  }

  std::shared_ptr<Captured> captured_;
  device::Device& device_;
  Instance& instance_;
  RegionGraphs graphs_;
  Run run_;
  std::unique_ptr<device::Stream> own_stream_{};
  std::vector<std::unique_ptr<device::GraphBuilder>> recorded_{};
};

Error refuse(const Schedule& schedule, ErrorCode code, std::string why) {
  return Error{code, std::move(why)}.with_method(std::string{schedule.method}).with_device(to_string(schedule.device));
}

}  // namespace

Status may_be_captured(const Schedule& schedule, const ExecuteOptions& options) {
  const auto refuse_value = [&schedule](const char* what, std::size_t index) {
    return refuse(schedule, ErrorCode::NotSupported, std::string{what} + " on the host in a capture")
        .with_field(std::string{what} + " " + std::to_string(index))
        .with_argument(static_cast<int>(index));
  };
  for (std::size_t i = 0; i < schedule.inputs.size(); ++i) {
    if (is_on_host(schedule, schedule.inputs[i].value)) return refuse_value("input", i);
  }
  for (std::size_t i = 0; i < schedule.outputs.size(); ++i) {
    if (is_on_host(schedule, schedule.outputs[i])) return refuse_value("output", i);
  }
  if (!options.inputs_ready.empty()) {
    return refuse(schedule, ErrorCode::InvalidArgument, "events to wait for, in a capture");
  }
  if (State::is_needed(schedule) && options.state == nullptr) {
    return refuse(schedule, ErrorCode::InvalidState,
                  "the method's own state in a capture; a state of the graph's own (new_state) can be");
  }
  for (const Region& region : schedule.regions) {
    if (region.host_buffers.empty()) continue;
    return refuse(schedule, ErrorCode::NotSupported,
                  "a delegate with mutable buffers in the host's memory, in a capture: what they hold when the graph "
                  "runs is not known now")
        .with_backend(std::string{schedule.delegates[region.host_buffers.front().delegate].backend_id},
                      static_cast<int>(region.host_buffers.front().delegate));
  }
  std::size_t region = 0;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    if (region < schedule.regions.size() && schedule.regions[region].first == i) {
      i = schedule.regions[region++].end - 1;
    } else if (schedule.steps[i].kind != Step::Kind::Move && schedule.steps[i].kind != Step::Kind::Free) {
      return refuse(schedule, ErrorCode::NotSupported, "a step that no graph can hold, in a capture")
          .with_site(site_of(schedule, schedule.steps[i]));
    }
  }
  for (std::size_t d = 0; d < schedule.delegates.size(); ++d) {
    if (schedule.delegates[d].max_contexts == 0) continue;
    return refuse(schedule, ErrorCode::NotSupported, "a delegate that limits its contexts, in a capture")
        .with_backend(std::string{schedule.delegates[d].backend_id}, static_cast<int>(d));
  }
  return {};
}

Status capture_run(const std::shared_ptr<const Schedule>& schedule, device::Device& device,
                   std::shared_ptr<State> state, GraphPolicy graphs, std::span<const Value> inputs,
                   std::span<Value> outputs, std::span<const Tensor> bound, device::Stream& stream) {
  device::sweep_kept();  // callers that capture often
  MethodOptions options;
  options.graphs = GraphPolicy::Off;  // of the lane: this run is in no graph but the caller's
  options.max_in_flight = 1;
  const auto captured = std::make_shared<Captured>();
  captured->schedule = schedule;
  captured->state = std::move(state);
  captured->inputs.assign(inputs.begin(), inputs.end());
  captured->outputs.resize(outputs.size());
  TANDEM_TRY(captured->lane, Lane::create(*schedule, device, options));
  TANDEM_CHECK_OK(Capturer(captured, device, graphs).add_to(stream, bound));
  std::ranges::copy(captured->outputs, outputs.begin());
  return {};
}

}  // namespace tandem::runtime
