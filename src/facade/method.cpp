#include <tandem/method.h>

#include "device/host/host_device.h"
#include "facade/method_meta.h"
#include "runtime/bind/instance.h"
#include "runtime/execute/eager.h"
#include "runtime/execute/inputs.h"
#include "runtime/execute/outputs.h"
#include "runtime/lower/lower.h"
#include "runtime/state.h"

#include <mutex>
#include <utility>

namespace tandem {

struct Method::Impl {
  std::shared_ptr<const Program> program;
  MethodMeta meta;
  std::unique_ptr<const runtime::Schedule> schedule;
  runtime::MethodStates states;
  std::unique_ptr<runtime::Instance> instance;
  std::unique_ptr<runtime::Outputs> outputs;
  std::mutex mutex;  // one execution at a time

  Status run(std::span<const Value> inputs, std::span<Value> values, std::span<const Tensor> bound) {
    std::unique_lock<std::mutex> shared_states;
    if (states.shared != nullptr) shared_states = std::unique_lock{states.shared->run_mutex()};
    instance->reset_values();
    Status status = outputs->begin(*instance, bound);
    if (status.ok()) {
      status = runtime::set_inputs(
          *instance, inputs, [this](const void* data, std::size_t bytes) { return outputs->writes_to(data, bytes); });
    }
    if (status.ok()) {
      status = runtime::run_steps(*instance, StreamRef{device::HostDevice::instance().thread_stream()});
    }
    if (!status.ok()) {
      outputs->abandon();
      return status;
    }
    return outputs->collect(*instance, bound, values);
  }
};

Method::Method(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
Method::~Method() = default;

Result<std::shared_ptr<Method>> Method::load(std::shared_ptr<const Program> program, std::string_view method,
                                             const MethodOptions& options) {
  if (options.device != DeviceId{}) {
    return Error{ErrorCode::NotSupported, "this build runs methods on the host only"}
        .with_expected("host", to_string(options.device))
        .with_device(to_string(options.device));
  }
  TANDEM_TRY(const format::Method* const found, facade::find_method(*program, method));
  device::Device& device = device::HostDevice::instance();
  auto impl = std::make_unique<Impl>();
  impl->meta = facade::describe_method(*found);
  const BackendRegistry& backends = options.backends != nullptr ? *options.backends : BackendRegistry::global();
  const runtime::LowerInput input{.file = program->file(),
                                  .method = *found,
                                  .data = program->data(),
                                  .named_data = program->named_data(),
                                  .operators = runtime::OperatorRegistry::builtin(),
                                  .backends = backends,
                                  .backend_options = options.backend_options,
                                  .device = options.device,
                                  .allow_native_code = options.allow_native_code,
                                  .stream_policy = options.streams,
                                  .allow_races = options.allow_races};
  const auto in_file = [&program](Error&& error) { return std::move(error).with_site({.file = program->name()}); };
  auto schedule = runtime::lower(input);
  if (!schedule.ok()) return in_file(std::move(schedule).error());
  impl->schedule = *std::move(schedule);
  auto states = runtime::MethodStates::create(*impl->schedule, device, options.states);
  if (!states.ok()) return in_file(std::move(states).error());
  impl->states = *std::move(states);
  auto instance = runtime::Instance::create(*impl->schedule, device, impl->states);
  if (!instance.ok()) return in_file(std::move(instance).error());
  impl->instance = *std::move(instance);
  impl->outputs = std::make_unique<runtime::Outputs>(*impl->schedule);
  impl->program = std::move(program);
  return std::shared_ptr<Method>{new Method{std::move(impl)}};
}

const MethodMeta& Method::meta() const noexcept { return impl_->meta; }
const runtime::Schedule& Method::schedule() const noexcept { return *impl_->schedule; }

Result<std::vector<Value>> Method::execute(std::span<const Value> inputs, const ExecuteOptions& options) {
  std::vector<Value> outputs(impl_->schedule->outputs.size());
  TANDEM_CHECK_OK(execute_into(inputs, outputs, options));
  return outputs;
}

Status Method::execute_into(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options) {
  const runtime::Schedule& schedule = *impl_->schedule;
  if (outputs.size() != schedule.outputs.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong number of outputs"}
        .with_expected(std::to_string(schedule.outputs.size()), std::to_string(outputs.size()))
        .with_method(std::string{schedule.method});
  }
  TANDEM_CHECK_OK(runtime::check_inputs(schedule, inputs));
  TANDEM_CHECK_OK(runtime::Outputs::check_bound(schedule, options.outputs));
  const std::scoped_lock lock{impl_->mutex};
  return impl_->run(inputs, outputs, options.outputs);
}

}  // namespace tandem
