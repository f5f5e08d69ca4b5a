#include "runtime/execute/eager.h"

#include "base/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tandem::runtime {
namespace {

/// Source: limit of ExecuTorch's Method::execute.
constexpr std::uint64_t kMaxStepsPerRun = 10'000'000;

/// Whether the inputs have other sizes than at the last bind(); remembers the new ones.
bool sizes_changed(BoundDelegate& call) noexcept {
  bool changed = false;
  std::int64_t* known = call.bound_sizes.data();
  for (const Argument* argument : call.inputs()) {
    if (!argument->is_tensor()) continue;
    for (const std::int64_t size : argument->tensor.size_span()) {
      changed = changed || *known != size;
      *known++ = size;
    }
  }
  return changed;
}

Status bind(BoundDelegate& call) {
  const std::span<const Argument* const> arguments{call.arguments.data(), call.arguments.size()};
  TANDEM_TRY(const BoundLayout layout, call.context->bind(arguments));
  call.scratch_bytes = layout.scratch_bytes;
  call.bound = true;
  return {};
}

/// Lands a result that the delegate left elsewhere, or with another size, in the planned value.
Status land(const OutputResult& result, Argument& output) {
  if (output.kind == Argument::Kind::None) return {};  // the program does not use it
  if (result.kind == OutputResult::Kind::Number) {
    switch (output.kind) {
      case Argument::Kind::Int:
        output.integer = result.number;
        return {};
      case Argument::Kind::Double:
        output.number = result.real;
        return {};
      case Argument::Kind::Bool:
        output.flag = result.number != 0;
        return {};
      default:
        return Error{ErrorCode::InvalidType, "the delegate returned a number where a tensor is planned"};
    }
  }
  if (!output.is_tensor()) {
    return Error{ErrorCode::InvalidType, "the delegate returned a tensor where a number is planned"};
  }
  if (result.sizes != nullptr) TANDEM_CHECK_OK(resize(output.tensor, {result.sizes, result.rank}));
  if (result.kind == OutputResult::Kind::InPlace) return {};
  if (result.dtype != output.tensor.dtype) {
    return Error{ErrorCode::InvalidType, "the delegate returned another dtype than the program plans"}.with_expected(
        std::string{name_of(output.tensor.dtype)}, std::string{name_of(result.dtype)});
  }
  if (result.data == output.tensor.data) return {};
  base::copy_strided(output.tensor.data, output.tensor.stride_span(), result.data, {result.strides, result.rank},
                     output.tensor.size_span(), item_bytes(output.tensor.dtype));
  return {};
}

Status call_delegate(Instance& instance, BoundDelegate& call, StreamRef stream) {
  if (!call.bound || call.shared_context || (call.dynamic && sizes_changed(call))) {
    sizes_changed(call);
    TANDEM_CHECK_OK(bind(call));
  }
  EnqueueArgs args{stream};
  args.arguments = call.arguments;
  args.outputs = call.results;
  TANDEM_TRY(args.scratch, instance.scratch(call.scratch_bytes));
  TANDEM_CHECK_OK(call.context->enqueue(args));
  const std::size_t first_output = call.arguments.size() - call.results.size();
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const OutputResult& result = call.results[i];
    if (result.kind == OutputResult::Kind::InPlace && result.sizes == nullptr) continue;
    if (Status landed = land(result, *call.arguments[first_output + i]); !landed.ok()) {
      return std::move(landed).error().with_argument(static_cast<int>(first_output + i));
    }
  }
  if (args.rebind) {
    sizes_changed(call);
    return bind(call);
  }
  return {};
}

/// Copies the handle, not the bytes.
void move(const Argument& from, Argument& to) noexcept {
  if (!from.is_tensor()) {
    to = from;
    return;
  }
  to.tensor.data = from.tensor.data;
  to.tensor.capacity_bytes = from.tensor.capacity_bytes;
  std::copy_n(from.tensor.sizes, from.tensor.rank, to.tensor.sizes);
  std::copy_n(from.tensor.strides, from.tensor.rank, to.tensor.strides);
}

/// True where all elements are.
bool holds(const Argument& condition) noexcept {
  if (!condition.is_tensor()) return condition.flag;
  const auto* flags = static_cast<const std::uint8_t*>(condition.tensor.data);
  const auto count = static_cast<std::size_t>(condition.tensor.numel());
  return std::all_of(flags, flags + count, [](std::uint8_t flag) { return flag != 0; });
}

}  // namespace

Status run_steps(Instance& instance, StreamRef stream) {
  const Schedule& schedule = instance.schedule();
  const std::size_t count = schedule.steps.size();
  std::uint64_t budget = kMaxStepsPerRun;
  for (std::size_t i = 0; i < count;) {
    const Step& step = schedule.steps[i];
    if (budget-- == 0) {
      return Error{ErrorCode::NotSupported, "the run does not end"}
          .with_expected("at most " + std::to_string(kMaxStepsPerRun) + " instructions", "more")
          .with_site(site_of(schedule, step));
    }
    const std::span<Argument* const> args = instance.args_of(step);
    std::size_t next = i + 1;
    Status status;
    switch (step.kind) {
      case Step::Kind::Delegate:
        status = call_delegate(instance, *instance.call(i), stream);
        break;
      case Step::Kind::Kernel:
        status = schedule.operators[step.target]->run(args);
        break;
      case Step::Kind::Move:
        move(*args[0], *args[1]);
        break;
      case Step::Kind::JumpFalse:
        if (!holds(*args[0])) next = step.target;
        break;
      case Step::Kind::Free:
        break;  // planned memory is not given back
    }
    if (!status.ok()) return std::move(status).error().with_site(site_of(schedule, step));
    i = next;
  }
  return {};
}

}  // namespace tandem::runtime
