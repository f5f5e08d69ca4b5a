#include <tandem/method.h>

#include "base/fork.h"
#include "facade/devices.h"
#include "facade/method_meta.h"
#include "facade/shared_buffers.h"
#include "runtime/execute/dispatcher.h"
#include "runtime/lower/lower.h"
#include "runtime/state.h"

#include <utility>

namespace tandem {

std::string_view name_of(GraphPolicy policy) noexcept {
  switch (policy) {
    case GraphPolicy::Auto:
      return "auto";
    case GraphPolicy::Off:
      return "off";
    case GraphPolicy::On:
      return "on";
    case GraphPolicy::Branches:
      return "branches";
  }
  return "unknown";
}

struct Method::Impl {
  MethodMeta meta;
  std::shared_ptr<const runtime::Schedule> schedule;  // keeps the program
  device::Device* device = nullptr;
  std::shared_ptr<SeededScheduler> scheduler;
  std::shared_ptr<runtime::StateStore> states;  // null without a state
  SharedBuffers shared_buffers;
  std::shared_ptr<State> state;
  std::shared_ptr<runtime::Dispatcher> dispatcher;
};

Method::Method(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}

Method::~Method() {
  if (base::is_forked_child()) return;
  ignore(impl_->dispatcher->wait_until_idle(), "executions under way keep what they need");
}

Result<std::shared_ptr<Method>> Method::load(std::shared_ptr<const Program> program, std::string_view method,
                                             const MethodOptions& options) {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  base::watch_forks();
  TANDEM_TRY(device::Device * device, facade::find_device(options.device));
  if (options.scheduler != nullptr) device = &options.scheduler->device();
  TANDEM_TRY(const format::Method* const found, facade::find_method(*program, method));
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
                                  .allow_races = options.allow_races,
                                  .plan_branches = runtime::plans_branches(options),
                                  .folder = program->folder(),
                                  .input_bounds = options.input_bounds};
  const auto in_file = [&program](Error&& error) { return std::move(error).with_site({.file = program->name()}); };
  auto lowered = runtime::lower(input);
  if (!lowered.ok()) return in_file(std::move(lowered).error());
  const runtime::Schedule* const schedule = (*lowered).release();
  impl->schedule.reset(schedule, [program](const runtime::Schedule* owned) { delete owned; });
  impl->device = device;
  impl->scheduler = options.scheduler;
  std::shared_ptr<runtime::State> state;
  if (runtime::State::is_needed(*schedule)) {
    impl->states = options.states != nullptr ? options.states : program->unshared_states();
    impl->shared_buffers = facade::shared_buffers(*program, options.shared_buffers);
    auto made = runtime::State::create(impl->schedule, *device, impl->states, impl->shared_buffers);
    if (!made.ok()) return in_file(std::move(made).error());
    state = *std::move(made);
    impl->state = std::make_shared<State>(state);
  }
  auto dispatcher = runtime::Dispatcher::create(impl->schedule, *device, std::move(state), options);
  if (!dispatcher.ok()) return in_file(std::move(dispatcher).error());
  impl->dispatcher = *std::move(dispatcher);
  for (std::size_t i = 0; i < schedule->inputs.size(); ++i)
    impl->meta.inputs[i].tensor.bounds = schedule->inputs[i].bounds;
  impl->meta.fully_async = impl->dispatcher->is_fully_async();
  return std::shared_ptr<Method>{new Method{std::move(impl)}};
}

const MethodMeta& Method::meta() const noexcept { return impl_->meta; }
DeviceId Method::device() const noexcept { return impl_->schedule->device; }
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
  return impl_->dispatcher->execute(inputs, outputs, options);
}

Result<Execution> Method::execute_async(std::span<const Value> inputs, const ExecuteOptions& options) {
  return impl_->dispatcher->execute_async(inputs, options);
}

Status Method::prepare(std::span<const Value> inputs, const ExecuteOptions& options) {
  return impl_->dispatcher->prepare(inputs, options);
}

std::vector<GraphInfo> Method::graphs() const { return impl_->dispatcher->graphs(); }

Result<std::shared_ptr<State>> Method::new_state() {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  if (impl_->state == nullptr) return std::shared_ptr<State>{};
  if (const std::string& shared = impl_->state->impl()->shared_buffer(); !shared.empty()) {
    return Error{
        ErrorCode::NotSupported,
        "the method shares a buffer with other methods, which a state of one method cannot have; load the program "
        "by a further Module for a further conversation"}
        .with_expected("buffers of its own", shared)
        .with_method(std::string{impl_->schedule->method});
  }
  TANDEM_TRY(auto state, runtime::State::create(impl_->schedule, *impl_->device, impl_->states, impl_->shared_buffers));
  return std::make_shared<State>(std::move(state));
}

std::shared_ptr<State> Method::state() const noexcept { return impl_->state; }

}  // namespace tandem
