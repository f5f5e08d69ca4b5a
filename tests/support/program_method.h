#pragma once

#include "runtime/execute/dispatcher.h"
#include "runtime/lower/lower.h"
#include "runtime/state.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::testing {

/// Method, but on a device of the test's: a simulated GPU, for example.
class ProgramMethod {
 public:
  /// Lifetime: the device outlives it. Errors: as Method::load().
  [[nodiscard]] static Result<std::unique_ptr<ProgramMethod>> load(std::shared_ptr<const Program> program,
                                                                   std::string_view method, device::Device& device,
                                                                   const MethodOptions& options) {
    for (const format::Method& found : program->file().methods) {
      if (found.name == method) return load(std::move(program), found, device, options);
    }
    return Error{ErrorCode::MethodNotFound, "no such method"};
  }
  /// As Method's.
  ~ProgramMethod() { ignore(dispatcher_->wait_until_idle(), "as Method"); }
  ProgramMethod(const ProgramMethod&) = delete;
  ProgramMethod& operator=(const ProgramMethod&) = delete;

  [[nodiscard]] Result<std::vector<Value>> execute(std::span<const Value> inputs, const ExecuteOptions& options = {}) {
    std::vector<Value> outputs(schedule_->outputs.size());
    TANDEM_CHECK_OK(execute_into(inputs, outputs, options));
    return outputs;
  }
  [[nodiscard]] Status execute_into(std::span<const Value> inputs, std::span<Value> outputs,
                                    const ExecuteOptions& options = {}) {
    return dispatcher_->execute(inputs, outputs, options);
  }
  [[nodiscard]] Status prepare(std::span<const Value> inputs, const ExecuteOptions& options = {}) {
    return dispatcher_->prepare(inputs, options);
  }
  [[nodiscard]] Result<Execution> execute_async(std::span<const Value> inputs, const ExecuteOptions& options = {}) {
    return dispatcher_->execute_async(inputs, options);
  }
  [[nodiscard]] std::vector<GraphInfo> graphs() const { return dispatcher_->graphs(); }
  [[nodiscard]] const runtime::Schedule& schedule() const { return *schedule_; }

 private:
  ProgramMethod() = default;

  static Result<std::unique_ptr<ProgramMethod>> load(std::shared_ptr<const Program> program,
                                                     const format::Method& found, device::Device& device,
                                                     const MethodOptions& options) {
    const runtime::LowerInput input{.file = program->file(),
                                    .method = found,
                                    .data = program->data(),
                                    .named_data = program->named_data(),
                                    .operators = runtime::OperatorRegistry::builtin(),
                                    .backends = *options.backends,
                                    .backend_options = options.backend_options,
                                    .device = options.device,
                                    .allow_native_code = options.allow_native_code,
                                    .stream_policy = options.streams,
                                    .allow_races = options.allow_races,
                                    .plan_branches = runtime::plans_branches(options),
                                    .folder = program->folder(),
                                    .input_bounds = options.input_bounds};
    TANDEM_TRY(auto lowered, runtime::lower(input));
    std::unique_ptr<ProgramMethod> made{new ProgramMethod};
    made->program_ = std::move(program);
    made->schedule_ = std::move(lowered);
    std::shared_ptr<runtime::State> state;
    if (runtime::State::is_needed(*made->schedule_)) {
      TANDEM_TRY(state, runtime::State::create(made->schedule_, device, options.states, options.shared_buffers));
    }
    TANDEM_TRY(made->dispatcher_, runtime::Dispatcher::create(made->schedule_, device, std::move(state), options));
    return made;
  }

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const runtime::Schedule> schedule_;
  std::shared_ptr<runtime::Dispatcher> dispatcher_;
};

}  // namespace tandem::testing
