#include "runtime/execute/eager.h"

#include "base/guarded.h"
#include "base/poison.h"
#include "base/strided_copy.h"
#include "base/text.h"
#include "device/stream.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tandem::runtime {
namespace {

/// Whether the inputs have other sizes than at the last bind(); remembers the new ones.
bool sizes_changed(BoundDelegate& call, std::span<Argument* const> arguments) noexcept {
  bool changed = false;
  std::int64_t* known = call.bound_sizes.data();
  for (const Argument* argument : call.inputs_of(arguments)) {
    if (!argument->is_tensor()) continue;
    for (const std::int64_t size : argument->tensor.size_span()) {
      changed = changed || *known != size;
      *known++ = size;
    }
  }
  return changed;
}

/// Compiled code does not check: other sizes than it was made for end in other tensors' bytes, and 0 in a division.
Status check_sizes(const Schedule& schedule, const DelegatePlan& delegate, std::span<Argument* const> inputs) {
  if (delegate.checks_sizes) return {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->is_tensor() || !inputs[i]->tensor.resizable) continue;
    const std::span<const std::int64_t> sizes = inputs[i]->tensor.size_span();
    const std::span<const SizeBounds> known = bounds_of(delegate, i);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      SizeBounds bounds = axis < known.size() ? known[axis] : SizeBounds{};
      // Exporters compute lower bounds from sizes of at least 2; those of a run may come from 1.
      if (bounds.min != bounds.max) bounds.min = std::min<std::int64_t>(bounds.min, 1);
      const bool is_stated = sizes[axis] == 0 && bounds.zero_unknown && schedule.zero_stated;
      if (is_stated || takes(bounds, sizes[axis])) continue;
      return Error{ErrorCode::InvalidArgument, size_refusal(bounds, axis, sizes[axis])}
          .with_expected(text_of(bounds), std::to_string(sizes[axis]) + " of " + base::text_of(sizes))
          .with_argument(static_cast<int>(i));
    }
  }
  return {};
}

Status bind(BoundDelegate& call, std::span<Argument* const> arguments) {
  return base::guarded(ErrorCode::BackendFailed, [&]() -> Status {
    TANDEM_TRY(const BoundLayout layout, call.context->bind({arguments.data(), arguments.size()}));
    call.scratch_bytes = layout.scratch_bytes;
    call.bound = true;
    return {};
  });
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

/// `recorder` gets the work, if there is one and the stream does not capture it.
Status call_delegate(Instance& instance, std::size_t step, StreamRef stream, Recorder* recorder = nullptr,
                     bool is_captured = false) {
  BoundDelegate& call = instance.call(step);
  const Schedule& schedule = instance.schedule();
  const std::span<Argument* const> arguments = instance.args_of(schedule.steps[step]);
  if (!call.bound || call.shared_context || (call.dynamic && sizes_changed(call, arguments))) {
    call.bound = false;
    if (call.dynamic) {
      TANDEM_CHECK_OK(
          check_sizes(schedule, schedule.delegates[schedule.steps[step].target], call.inputs_of(arguments)));
    }
    sizes_changed(call, arguments);
    TANDEM_CHECK_OK(bind(call, arguments));
  }
  EnqueueArgs args{stream};
  args.arguments = arguments;
  args.outputs = call.results;
  args.recorder = recorder;
  args.is_captured = is_captured;
  if (call.scratch_bytes != 0) {
    TANDEM_TRY(args.scratch, instance.scratch(step, call.scratch_bytes));
  }
  TANDEM_CHECK_OK(base::guarded(ErrorCode::BackendFailed, [&] { return call.context->enqueue(args); }));
  const std::size_t first_output = arguments.size() - call.results.size();
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const OutputResult& result = call.results[i];
    if (result.kind == OutputResult::Kind::InPlace && result.sizes == nullptr) continue;
    if (recorder != nullptr && result.kind == OutputResult::Kind::View) {
      return Error{ErrorCode::NotSupported, "a result in memory of the delegate's cannot be recorded"}.with_argument(
          static_cast<int>(first_output + i));
    }
    if (Status landed = land(result, *arguments[first_output + i]); !landed.ok()) {
      return std::move(landed).error().with_argument(static_cast<int>(first_output + i));
    }
  }
  if (args.rebind) {
    sizes_changed(call, arguments);
    return bind(call, arguments);
  }
  return {};
}

/// Gives the target the source's sizes.
Status prepare_copy(const TensorArg& from, TensorArg& to) {
  TANDEM_CHECK_OK(resize(to, from.size_span()));
  if (base::same_layout(from.size_span(), from.stride_span(), to.stride_span())) return {};
  return Error{ErrorCode::NotSupported, "a copy between host and device would have to change the layout"}.with_expected(
      base::text_of(to.stride_span()), base::text_of(from.stride_span()));
}

/// Which input in memory of the host a value is; kNone: none.
std::uint32_t host_input_of(const Schedule& schedule, std::uint32_t value) noexcept {
  const std::uint32_t buffer = schedule.values[value].place.buffer;
  if (schedule.values[value].device != DeviceId{} || buffer == kNone ||
      schedule.buffers[buffer].kind != BufferPlan::Kind::Input)
    return kNone;
  const auto found = std::ranges::find(schedule.inputs, schedule.buffers[buffer].value, &InputPlan::value);
  return static_cast<std::uint32_t>(found - schedule.inputs.begin());
}

/// Between host and device, or on the device, in the order of `stream`. Host memory is the instance's or an output's,
/// which the device reaches, but for inputs, which are the caller's.
Status copy(Instance& instance, const Step& step, device::Stream& stream) {
  const TensorArg& from = instance.args_of(step)[0]->tensor;
  TensorArg& to = instance.args_of(step)[1]->tensor;
  TANDEM_CHECK_OK(prepare_copy(from, to));
  const std::size_t bytes = from.nbytes();
  const std::uint32_t value = instance.schedule().args_of(step)[0];
  const std::uint32_t source = instance.schedule().source_of(value);
  const std::uint32_t input = host_input_of(instance.schedule(), source);
  if (input == kNone) return stream.copy(to.data, from.data, bytes);
  if (source != value) return stream.upload(to.data, from.data, bytes);  // the staging is for the input itself
  TANDEM_TRY(std::byte* const staging, instance.input_staging(input, bytes));
  if (staging == nullptr) return stream.upload(to.data, from.data, bytes);
  if (bytes != 0) std::memcpy(staging, from.data, bytes);
  return stream.copy(to.data, staging, bytes);
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

/// Calls `fn(tensor, bytes)` for each tensor of varying size that the step writes in the instance's arenas, with the
/// bytes that are planned for it.
template <class Fn>
void for_each_result(Instance& instance, const Step& step, Fn&& fn) {
  const Schedule& schedule = instance.schedule();
  for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
    const ValuePlan& plan = schedule.values[value];
    const TensorArg& tensor = instance.value(value).tensor;
    if (!writes(mode) || !tensor.resizable || plan.reset || plan.place.buffer == kNone) return;
    if (schedule.buffers[plan.place.buffer].kind != BufferPlan::Kind::Arena) return;
    fn(tensor, static_cast<std::size_t>(plan.place.bytes));
  });
}

/// Builds with the address sanitizer, host device: a step may write all that is planned for its results; later ones
/// must not read beyond the bytes that it wrote.
class WrittenBytes {
 public:
  WrittenBytes(Instance& instance, const Step& step) : instance_{instance}, step_{step} {
    if (!is_on()) return;
    for_each_result(instance_, step_,
                    [](const TensorArg& tensor, std::size_t bytes) { base::unpoison(tensor.data, bytes); });
  }
  WrittenBytes(const WrittenBytes&) = delete;
  WrittenBytes& operator=(const WrittenBytes&) = delete;
  ~WrittenBytes() {
    if (!is_on()) return;
    for_each_result(instance_, step_, [](const TensorArg& tensor, std::size_t bytes) {
      const std::size_t written = std::min(tensor.nbytes(), bytes);
      base::poison(static_cast<std::byte*>(tensor.data) + written, bytes - written);
    });
  }

 private:
  [[nodiscard]] bool is_on() const noexcept { return base::kPoisons && instance_.schedule().device == DeviceId{}; }

  Instance& instance_;
  const Step& step_;
};

/// Here for run_steps(), where a call of its own would show.
inline Status step_on(Instance& instance, StreamRef stream, std::uint32_t& next) {
  const Schedule& schedule = instance.schedule();
  const std::uint32_t index = next++;
  const Step& step = schedule.steps[index];
  const std::span<Argument* const> args = instance.args_of(step);
  Status status;
  const WrittenBytes written{instance, step};
  switch (step.kind) {
    case Step::Kind::Delegate:
      status = call_delegate(instance, index, stream);
      break;
    case Step::Kind::Kernel:
      status = schedule.operators[step.target]->run(args);
      break;
    case Step::Kind::Copy:
      status = copy(instance, step, stream.get());
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
  return {};
}

}  // namespace

Error too_many_steps(const Schedule& schedule, std::uint32_t step) {
  return Error{ErrorCode::NotSupported, "the run does not end"}
      .with_expected("at most " + std::to_string(kMaxStepsPerRun) + " instructions", "more")
      .with_site(site_of(schedule, schedule.steps[step]));
}

Status take_copied_sizes(Instance& instance, std::uint32_t index) {
  const Schedule& schedule = instance.schedule();
  const Step& step = schedule.steps[index];
  const auto args = instance.args_of(step);
  if (Status taken = prepare_copy(args[0]->tensor, args[1]->tensor); !taken.ok()) {
    return std::move(taken).error().with_site(site_of(schedule, step));
  }
  return {};
}

Status record_step(Instance& instance, StreamRef stream, Recorder& recorder, bool is_captured, std::uint32_t index) {
  const Schedule& schedule = instance.schedule();
  const Step& step = schedule.steps[index];
  Status status;
  if (step.kind == Step::Kind::Delegate) {
    status = call_delegate(instance, index, stream, &recorder, is_captured);
  } else if (step.kind == Step::Kind::Copy) {
    TANDEM_CHECK_OK(take_copied_sizes(instance, index));
    const auto args = instance.args_of(step);
    status = recorder.copy(args[1]->tensor.data, args[0]->tensor.data, args[0]->tensor.nbytes());
  }
  if (!status.ok()) return std::move(status).error().with_site(site_of(schedule, step));
  return {};
}

Status run_step(Instance& instance, StreamRef stream, std::uint32_t& next) { return step_on(instance, stream, next); }

Status run_steps(Instance& instance, StreamRef stream, Cursor& cursor, std::uint64_t limit) {
  const Schedule& schedule = instance.schedule();
  const auto count = static_cast<std::uint32_t>(schedule.steps.size());
  const std::uint64_t stop = cursor.done + limit;
  while (cursor.next < count && cursor.done != stop) {
    const Step& step = schedule.steps[cursor.next];
    if (cursor.done++ == kMaxStepsPerRun) return too_many_steps(schedule, cursor.next);
    cursor.changed_state = cursor.changed_state || step.changes_state;
    TANDEM_CHECK_OK(step_on(instance, stream, cursor.next));
  }
  return {};
}

}  // namespace tandem::runtime
