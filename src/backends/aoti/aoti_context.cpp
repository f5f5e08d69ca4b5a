#include "backends/aoti/aoti_context.h"

#include "backends/aoti/element.h"
#include "backends/aoti/geometry.h"
#include "base/checked.h"
#include "base/log.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tandem::aoti {
namespace {

/// Compiled code may use aligned vector accesses on what it allocates.
constexpr std::size_t kOutputAlignment = 16;

/// As the device's allocations are.
constexpr std::size_t kZerosAlignment = 256;

/// Bytes that a tensor argument reaches over.
struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool overlaps(const Range& other) const noexcept { return first < other.end && other.first < end; }
};

Range range_of(const TensorArg& tensor) noexcept {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < tensor.rank; ++d) {
    if (tensor.sizes[d] == 0) return {};
    elements += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.data);
  return {first, first + static_cast<std::size_t>(elements) * item_bytes(tensor.dtype)};
}

/// Whether the handle's memory is exactly what the argument plans: then its bytes are the output.
bool has_planned_layout(const AtenTensor& handle, const Argument& argument) noexcept {
  if (!argument.is_tensor()) return false;
  const TensorArg& tensor = argument.tensor;
  if (handle.dtype != tensor.dtype || handle.rank != tensor.rank || handle.offset != 0) return false;
  std::int64_t step = 1;
  for (std::size_t i = handle.rank; i-- > 0;) {
    const std::size_t d = tensor.dim_order == nullptr ? i : tensor.dim_order[i];
    if (handle.sizes[d] != 1 && handle.strides[d] != step) return false;
    step *= handle.sizes[d];
  }
  const std::size_t bytes = static_cast<std::size_t>(step) * item_bytes(handle.dtype);
  return bytes == handle.storage_bytes && bytes <= tensor.capacity_bytes;
}

/// The value that tells runs apart which a number may steer.
std::int64_t number_key(const Argument& argument) noexcept {
  switch (argument.kind) {
    case Argument::Kind::Int:
      return argument.integer;
    case Argument::Kind::Bool:
      return argument.flag ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

AotiContext::AotiContext(ReadyContainer ready, std::shared_ptr<const Weights> weights)
    : weights_{std::move(weights)},
      device_{ready.device},
      memory_{*device_},
      ready_{std::move(ready)},
      inputs_(ready_.container->input_count()),
      outputs_(ready_.container->output_count()),
      results_(outputs_.size()),
      scalars_(inputs_.size()),
      addresses_(inputs_.size() + outputs_.size()),
      targets_(outputs_.size()),
      warm_{device_->runs_on_host() || !weights_->can_reset()} {}

AotiContext::~AotiContext() { drop_outputs(); }

Status AotiContext::use_buffers(std::span<std::byte* const> memory) {
  buffers_.assign(memory.begin(), memory.end());
  return weights_->bind(ready_, buffers_);
}

Status AotiContext::check_counts(std::size_t arguments, std::size_t outputs) const {
  if (arguments == inputs_.size() + outputs_.size() && outputs == outputs_.size()) return {};
  return Error{ErrorCode::InvalidArgument, "wrong number of delegate arguments"}.with_expected(
      std::to_string(inputs_.size()) + " inputs and " + std::to_string(outputs_.size()) + " outputs",
      std::to_string(arguments) + " arguments, " + std::to_string(outputs) + " of them outputs");
}

/// Chooses the record of these sizes and numbers.
void AotiContext::select(std::span<const Argument* const> arguments) {
  shapes_.clear();
  for (const Argument* argument : arguments.first(input_count())) {
    if (argument->is_tensor()) {
      shapes_.insert(shapes_.end(), argument->tensor.sizes, argument->tensor.sizes + argument->tensor.rank);
    } else {
      shapes_.push_back(number_key(*argument));
    }
  }
  memory_.select(shapes_);
  targets_known_ = false;
}

Result<BoundLayout> AotiContext::bind(std::span<const Argument* const> arguments) {
  TANDEM_CHECK_OK(check_counts(arguments.size(), outputs_.size()));
  drop_outputs();
  select(arguments);
  if (!std::exchange(warm_, true)) TANDEM_CHECK_OK(warm_up(arguments));
  BoundLayout layout;
  layout.scratch_bytes = memory_.scratch_bytes();
  return layout;
}

/// A model that refuses zeros (a check of its own, say) records in its first run instead; what no run can change is an
/// error now.
Status AotiContext::warm_up(std::span<const Argument* const> arguments) {
  std::vector<Argument> stand_ins;
  std::vector<Argument*> pointers;
  std::size_t bytes = 0;
  for (const Argument* argument : arguments) {
    Argument& copy = stand_ins.emplace_back(*argument);
    if (!copy.is_tensor()) continue;
    copy.tensor.data = nullptr;
    if (stand_ins.size() <= input_count()) bytes = base::align_up(bytes, kZerosAlignment) + range_of(copy.tensor).end;
  }
  TANDEM_TRY(DeviceBytes zeros, allocate(*device_, bytes));
  TANDEM_TRY(std::vector<DeviceBytes> trial_buffers, weights_->make_buffers(*device_));
  if (!trial_buffers.empty()) TANDEM_CHECK_OK(weights_->bind(ready_, addresses_of(trial_buffers)));
  std::size_t offset = 0;
  for (Argument& argument : stand_ins) {
    if (pointers.size() < input_count() && argument.is_tensor()) {
      offset = base::align_up(offset, kZerosAlignment);
      const std::size_t end = offset + range_of(argument.tensor).end;
      argument.tensor.data = zeros.get() + std::exchange(offset, end);
    }
    pointers.push_back(&argument);
  }
  const DeviceCalls calls{*device_};
  if (!device_->clear(zeros.get(), bytes)) {
    return Error{ErrorCode::BackendFailed, "the device's memory could not be cleared"}.with_device(device_->name());
  }
  std::ranges::fill(targets_, nullptr);
  targets_known_ = false;
  Status ran = run_once(pointers, {});
  for (std::size_t i = 0; i < outputs_.size() && ran.ok(); ++i) ran = check_kind(i, *pointers[input_count() + i]);
  drop_outputs();
  zeros.reset();
  TANDEM_CHECK_OK(device_->finish());
  if (!buffers_.empty()) TANDEM_CHECK_OK(weights_->bind(ready_, buffers_));
  trial_buffers.clear();
  if (ran.ok()) return memory_.reserve();
  if (ran.error().code() != ErrorCode::BackendFailed) return ran;
  base::log(LogLevel::Debug,
            "a delegate does not run on zeros, its first run will be slow: " + ran.error().to_string());
  return {};
}

/// Numbers change without a call of bind(), and may steer allocations as sizes do.
bool AotiContext::numbers_changed(std::span<Argument* const> arguments) const noexcept {
  std::size_t at = 0;
  for (const Argument* argument : arguments.first(input_count())) {
    if (argument->is_tensor()) {
      at += argument->tensor.rank;
    } else if (at >= shapes_.size() || shapes_[at++] != number_key(*argument)) {
      return true;
    }
  }
  return false;
}

Status AotiContext::make_inputs(std::span<Argument* const> arguments) {
  for (std::size_t i = 0; i < input_count(); ++i) TANDEM_CHECK_OK(make_input(i, *arguments[i]));
  return {};
}

Status AotiContext::make_input(std::size_t index, const Argument& argument) {
  AtenTensor& handle = ready_.container->state().handles.take();
  inputs_[index] = &handle;
  handle.defined = true;
  switch (argument.kind) {
    case Argument::Kind::Tensor: {
      const TensorArg& tensor = argument.tensor;
      handle.device_type = device_->aten_type();
      handle.device_index = device_->aten_index();
      handle.dtype = tensor.dtype;
      handle.rank = tensor.rank;
      handle.base = static_cast<std::byte*>(tensor.data);
      for (std::size_t d = 0; d < tensor.rank; ++d) {
        handle.sizes[d] = tensor.sizes[d];
        handle.strides[d] = tensor.strides[d];
      }
      handle.storage_bytes = reach_bytes(handle).value_or(0);
      return {};
    }
    case Argument::Kind::Int:
      handle.dtype = ScalarType::Long;
      handle.storage_bytes = sizeof argument.integer;
      std::memcpy(&scalars_[index], &argument.integer, sizeof argument.integer);
      break;
    case Argument::Kind::Double:
      handle.dtype = ScalarType::Double;
      handle.storage_bytes = sizeof argument.number;
      std::memcpy(&scalars_[index], &argument.number, sizeof argument.number);
      break;
    case Argument::Kind::Bool:
      handle.dtype = ScalarType::Bool;
      handle.storage_bytes = sizeof argument.flag;
      std::memcpy(&scalars_[index], &argument.flag, sizeof argument.flag);
      break;
    default:
      return Error{ErrorCode::InvalidType, "a delegate's input is neither a tensor nor a number"}
          .with_argument(static_cast<int>(index))
          .with_field(ready_.container->input_name(index));
  }
  handle.base = reinterpret_cast<std::byte*>(&scalars_[index]);
  return {};
}

void AotiContext::drop_inputs() noexcept {
  for (AtenTensor*& input : inputs_) {
    if (AtenTensor* handle = std::exchange(input, nullptr); is_live(handle)) delete_handle(*handle);
  }
}

/// Two outputs may be one handle.
void AotiContext::drop_outputs() noexcept {
  for (AtenTensor*& output : outputs_) {
    if (AtenTensor* handle = std::exchange(output, nullptr); is_live(handle)) delete_handle(*handle);
  }
}

bool AotiContext::may_write(std::size_t output, std::span<Argument* const> arguments) const {
  const std::size_t bytes = memory_.output_bytes(output);
  const Argument& argument = *arguments[input_count() + output];
  if (bytes == 0 || !argument.is_tensor()) return false;
  const TensorArg& tensor = argument.tensor;
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (first == 0 || first % kOutputAlignment != 0 || bytes > tensor.capacity_bytes) return false;
  // The library writes while it still reads its inputs.
  const Range place{first, first + bytes};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& other = *arguments[i];
    if (i == input_count() + output || !other.is_tensor() || other.tensor.data == nullptr) continue;
    Range range = range_of(other.tensor);
    if (i >= input_count()) {
      range.first = reinterpret_cast<std::uintptr_t>(other.tensor.data);
      range.end = range.first + other.tensor.capacity_bytes;
    }
    if (place.overlaps(range)) return false;
  }
  return true;
}

/// Addresses seldom change from run to run, so the check of each against all is kept.
void AotiContext::resolve_targets(std::span<Argument* const> arguments) {
  bool same = targets_known_;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const void* address = arguments[i]->is_tensor() ? arguments[i]->tensor.data : nullptr;
    same = same && addresses_[i] == address;
    addresses_[i] = address;
  }
  if (same) return;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    targets_[i] =
        may_write(i, arguments) ? static_cast<std::byte*>(arguments[input_count() + i]->tensor.data) : nullptr;
  }
  targets_known_ = true;
}

/// Copies a result to where the program wants it, on the stream: off the host nobody else can. False if its layout
/// does not fit there.
Result<bool> AotiContext::land(const AtenTensor& handle, const TensorArg& tensor, bool is_captured) const {
  if (tensor.data == nullptr || handle.dtype != tensor.dtype || handle.rank != tensor.rank) return false;
  AtenTensor target = handle;
  target.device_type = device_->aten_type();
  target.offset = 0;
  target.base = static_cast<std::byte*>(tensor.data);
  std::int64_t step = 1;
  for (std::size_t i = handle.rank; i-- > 0;) {
    const std::size_t d = tensor.dim_order == nullptr ? i : tensor.dim_order[i];
    target.strides[d] = step;
    step *= handle.sizes[d];
  }
  if (static_cast<std::size_t>(step) * item_bytes(handle.dtype) > tensor.capacity_bytes) return false;
  // A stream waits for all that it was given, a node of a captured graph for the one that its edge comes from: behind a
  // kernel that overtook another one that may be the wrong one. The graph itself ends with all of its nodes.
  // Source: CUDA driver API, cuEventRecord, "captures the contents of hStream"; CUgraphDependencyType.
  if (is_captured && device_->has_overlap()) {
    return Error{ErrorCode::NotSupported,
                 "a result has to be copied after kernels with programmatic stream serialization, which cannot be "
                 "captured"};
  }
  const char* why = device_->copy_elements(target, handle);
  if (why == nullptr) return true;
  return Error{ErrorCode::BackendFailed, std::string{"a result could not be copied: "} + why}.with_device(
      device_->name());
}

/// Checks the traits of a result that no data changes: the program has to want them so.
Status AotiContext::check_kind(std::size_t output, const Argument& argument) const {
  const AtenTensor& handle = *outputs_[output];
  const auto refuse = [&](ErrorCode code, const char* what, std::string expected, std::string found) {
    return Error{code, what}
        .with_expected(std::move(expected), std::move(found))
        .with_argument(static_cast<int>(input_count() + output));
  };
  if (argument.is_tensor()) {
    const auto text = [](ScalarType dtype, std::size_t rank) {
      return std::string{name_of(dtype)} + " of rank " + std::to_string(rank);
    };
    if (handle.dtype == argument.tensor.dtype && handle.rank == argument.tensor.rank) return {};
    return refuse(ErrorCode::IncompatibleDelegate, "the delegate's result is not of the program's kind",
                  text(argument.tensor.dtype, argument.tensor.rank), text(handle.dtype, handle.rank));
  }
  if (argument.kind == Argument::Kind::None || handle.device_type == kAtenCpu) return {};
  return refuse(ErrorCode::NotSupported, "the delegate's result for a number lies on the device", "on the host",
                device_->name());
}

Status AotiContext::report_output(std::size_t output, const Argument& argument, OutputResult& result,
                                  bool is_captured) const {
  const AtenTensor& handle = *outputs_[output];
  result.dtype = handle.dtype;
  result.rank = handle.rank;
  result.sizes = handle.sizes;
  result.strides = handle.strides;
  result.data = handle.data();
  if (argument.is_tensor()) {
    bool in_place =
        results_[output].planned_layout && (result.data == argument.tensor.data || handle.storage_bytes == 0);
    if (!in_place && !device_->runs_on_host()) {
      TANDEM_TRY(in_place, land(handle, argument.tensor, is_captured));
    }
    result.kind = in_place ? OutputResult::Kind::InPlace : OutputResult::Kind::View;
    return {};
  }
  if (argument.kind == Argument::Kind::None) {  // nobody looks at it
    result.kind = OutputResult::Kind::View;
    return {};
  }
  result.kind = OutputResult::Kind::Number;
  TANDEM_CHECK_OK(check_kind(output, argument));
  if (handle.numel() == 1 && read_element(handle.dtype, handle.data(), result.number) &&
      read_element(handle.dtype, handle.data(), result.real)) {
    return {};
  }
  return Error{ErrorCode::BackendFailed, "the delegate's result for a number is not one number"}.with_argument(
      static_cast<int>(input_count() + output));
}

/// One run of the container, with the selected record and targets_; fills outputs_ and results_.
Status AotiContext::run_once(std::span<Argument* const> arguments, std::span<std::byte> scratch) {
  const auto fail = [this](Status status) {
    memory_.abandon();
    drop_inputs();
    drop_outputs();
    return status;
  };
  if (Status made = make_inputs(arguments); !made.ok()) return fail(std::move(made));
  memory_.begin(scratch, targets_);
  ready_.container->state().run = &memory_;
  Status ran = ready_.container->run(inputs_, outputs_, device_->stream());
  ready_.container->state().run = nullptr;
  if (!ran.ok()) return fail(std::move(ran));
  std::ranges::fill(inputs_, nullptr);  // stolen
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_live(outputs_[i])) return fail(Error{ErrorCode::BackendFailed, "the delegate left an output empty"});
    results_[i] = {outputs_[i], has_planned_layout(*outputs_[i], *arguments[input_count() + i])};
  }
  if (Status finished = memory_.finish(results_); !finished.ok()) return fail(std::move(finished));
  return {};
}

Status AotiContext::enqueue(EnqueueArgs& args) {
  TANDEM_CHECK_OK(check_counts(args.arguments.size(), args.outputs.size()));
  const CallScope scope{ready_.container->state()};
  const DeviceCalls calls{*device_, device_->native(args.stream.get())};
  drop_outputs();
  if (numbers_changed(args.arguments) || !memory_.selected()) select(args.arguments);
  resolve_targets(args.arguments);
  if (args.recorder != nullptr) return record(args);
  const bool recording = !memory_.recorded();
  if (args.scratch.size() < memory_.scratch_bytes()) args.rebind = true;
  TANDEM_CHECK_OK(run_once(args.arguments, args.scratch));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    TANDEM_CHECK_OK(report_output(i, *args.arguments[input_count() + i], args.outputs[i], false));
  }
  if (recording) {
    targets_known_ = false;
    args.rebind = true;
  }
  return {};
}

/// One run whose launches the graph gets: all of its memory has to be there each time.
Status AotiContext::record(EnqueueArgs& args) {
  const auto refuse = [](const char* why) { return Error{ErrorCode::NotSupported, why}; };
  if (device_->runs_on_host()) return refuse("the delegate runs on the host");
  if (!memory_.recorded() || args.scratch.size() < memory_.scratch_bytes()) {
    return refuse("the delegate has not run at these sizes");
  }
  using Mode = AotiDevice::Mode;
  device_->set_mode(args.is_captured ? Mode::Capture : Mode::Record, args.is_captured ? nullptr : args.recorder);
  Status recorded = run_once(args.arguments, args.scratch);
  if (recorded.ok() && !memory_.is_fixed()) recorded = refuse("the delegate allocates memory of its own in each run");
  for (std::size_t i = 0; i < outputs_.size() && recorded.ok(); ++i) {
    const Argument& argument = *args.arguments[input_count() + i];
    recorded = report_output(i, argument, args.outputs[i], args.is_captured);
    const bool is_view = args.outputs[i].kind == OutputResult::Kind::View && argument.kind != Argument::Kind::None;
    if (recorded.ok() && is_view) recorded = refuse("a result of the delegate lies in other memory");
  }
  device_->set_mode(Mode::Run, nullptr);
  TANDEM_CHECK_OK(std::move(recorded));
  // In this order they go: the memory, then the device that it belongs to.
  struct Kept {
    std::shared_ptr<AotiDevice> device;
    std::shared_ptr<const void> memory;
  };
  args.recorder->keep(std::make_shared<const Kept>(Kept{device_, memory_.hold()}));
  return {};
}

}  // namespace tandem::aoti
