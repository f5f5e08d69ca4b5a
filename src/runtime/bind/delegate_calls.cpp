#include "runtime/bind/delegate_calls.h"

#include <string>
#include <utility>

namespace tandem::runtime {

namespace {

Result<std::unique_ptr<DelegateContext>> make_context(
    const DelegatePlan& plan, std::size_t delegate, std::span<const std::vector<std::shared_ptr<StateMemory>>> memory) {
  if (plan.buffers.empty()) return plan.delegate->new_context();
  std::vector<std::byte*> buffers;
  for (const auto& buffer : memory[delegate]) buffers.push_back(buffer->data());
  return plan.delegate->new_context_on(buffers);
}

}  // namespace

Result<DelegateCalls> DelegateCalls::create(const Schedule& schedule, bool stateful,
                                            std::span<const std::vector<std::shared_ptr<StateMemory>>> memory) {
  DelegateCalls made;
  bool any = false;
  for (std::size_t d = 0; d < schedule.delegates.size(); ++d) {
    const DelegatePlan& plan = schedule.delegates[d];
    made.contexts_.emplace_back();
    if (plan.stateful != stateful) continue;
    auto context = make_context(plan, d, memory);
    if (!context.ok()) {
      return std::move(context)
          .error()
          .with_backend(std::string{plan.backend_id}, static_cast<int>(d))
          .with_method(std::string{schedule.method});
    }
    made.contexts_.back() = *std::move(context);
    any = true;
  }
  if (!any) return made;
  // Two calls of one delegate share its context, which remembers one set of shapes: bind again at every call.
  std::vector<std::size_t> calls_per_delegate(schedule.delegates.size());
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::Delegate) ++calls_per_delegate[step.target];
  }
  made.call_of_step_.resize(schedule.steps.size(), kNone);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.kind != Step::Kind::Delegate || made.contexts_[step.target] == nullptr) continue;
    BoundDelegate call;
    call.context = made.contexts_[step.target].get();
    call.results.resize(schedule.delegates[step.target].output_count);
    call.shared_context = calls_per_delegate[step.target] > 1;
    std::size_t dims = 0;
    for (const std::uint32_t arg : schedule.args_of(step).first(step.arg_count - call.results.size())) {
      const Argument& stored = schedule.stored[arg];
      if (!stored.is_tensor()) continue;
      dims += stored.tensor.rank;
      call.dynamic = call.dynamic || stored.tensor.resizable;
    }
    call.bound_sizes.resize(dims);
    made.call_of_step_[i] = static_cast<std::uint32_t>(made.calls_.size());
    made.calls_.push_back(std::move(call));
  }
  return made;
}

}  // namespace tandem::runtime
