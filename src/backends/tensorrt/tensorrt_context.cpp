#include "backends/tensorrt/tensorrt_context.h"

#include "base/checked.h"
#include "base/text.h"
#include "device/stream.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::tensorrt {
namespace {

Error refuse(std::string message, const EngineTensor& tensor, std::size_t argument) {
  return Error{ErrorCode::InvalidArgument, std::move(message)}
      .with_argument(static_cast<int>(argument))
      .with_field(tensor.name);
}

/// Loading looked at the arguments of one call; a program may have several.
Status check_type(const EngineTensor& tensor, std::size_t argument, const Argument& found) {
  if (found.is_tensor() && found.tensor.dtype == tensor.dtype) return {};
  return Error{ErrorCode::InvalidType, "an argument of an engine has another type"}
      .with_expected(tensor.type_name, found.is_tensor() ? std::string{name_of(found.tensor.dtype)} : "no tensor")
      .with_argument(static_cast<int>(argument))
      .with_field(tensor.name);
}

bool is_dense(const TensorArg& tensor) noexcept {
  std::int64_t next = 1;
  for (std::size_t d = tensor.rank; d-- > 0;) {
    if (tensor.sizes[d] == 0) return true;
    if (tensor.sizes[d] != 1 && tensor.strides[d] != next) return false;
    next *= tensor.sizes[d];
  }
  return true;
}

/// The sizes as the engine counts: an axis of one element stands for none.
std::span<const std::int64_t> engine_sizes(const EngineTensor& tensor, const TensorArg& argument) noexcept {
  static constexpr std::int64_t kOne = 1;
  if (argument.rank == 0 && tensor.sizes.size() == 1) return {&kOne, 1};
  return {argument.sizes, argument.rank};
}

}  // namespace

TensorRTContext::TensorRTContext(std::shared_ptr<const LoadedEngine> loaded, std::unique_ptr<EngineContext> context)
    : loaded_{std::move(loaded)},
      context_{std::move(context)},
      inputs_(loaded_->bindings.inputs.size()),
      outputs_(loaded_->bindings.outputs.size()) {}

Status TensorRTContext::check_input(std::size_t i, const Argument& argument) const {
  const EngineTensor& tensor = loaded_->input(i);
  TANDEM_CHECK_OK(check_type(tensor, i, argument));
  const TensorArg& value = argument.tensor;
  TANDEM_CHECK_OK(check_profile(tensor, i, value.size_span()));
  if (value.device != loaded_->device) {
    return refuse("the tensor is on another device than the engine", tensor, i)
        .with_expected(to_string(loaded_->device), to_string(value.device));
  }
  if (!is_dense(value)) {
    return refuse("the tensor is not laid out row by row", tensor, i)
        .with_expected("dense strides for " + base::text_of(value.size_span()), base::text_of(value.stride_span()));
  }
  const bool is_aliased =
      std::ranges::find(loaded_->bindings.alias_of, std::optional{i}) != loaded_->bindings.alias_of.end();
  if (is_aliased && value.numel() == 0) return refuse("a tensor that is updated in place has no elements", tensor, i);
  return {};
}

Result<bool> TensorRTContext::tell_shapes(std::span<const Argument* const> arguments) {
  bool changed = !std::exchange(shapes_known_, false);  // until all of it went well
  for (std::size_t i = 0; i < inputs_.size(); ++i) TANDEM_CHECK_OK(check_input(i, *arguments[i]));
  const bool first = changed;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const EngineTensor& tensor = loaded_->input(i);
    const auto sizes = engine_sizes(tensor, arguments[i]->tensor);
    if (!first && std::ranges::equal(sizes, inputs_[i].sizes)) continue;
    changed = true;
    inputs_[i].sizes.assign(sizes.begin(), sizes.end());
    inputs_[i].bytes = arguments[i]->tensor.nbytes();
    if (Status told = context_->set_shape(loaded_->bindings.inputs[i], sizes); !told.ok()) {
      return std::move(told).error().with_argument(static_cast<int>(i)).with_field(tensor.name);
    }
  }
  return changed;
}

Status TensorRTContext::learn_outputs() {
  TANDEM_CHECK_OK(context_->infer_shapes());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const EngineTensor& tensor = loaded_->output(i);
    TANDEM_TRY(outputs_[i].sizes, context_->shape_of(loaded_->bindings.outputs[i]));
    const auto bytes = base::checked_bytes(std::span<const std::int64_t>{outputs_[i].sizes},
                                           item_bytes(tensor.dtype.value_or(ScalarType::Byte)));
    if (!bytes) {
      return Error{ErrorCode::BackendFailed, "the engine does not know an output's shape before it runs"}
          .with_expected("sizes", base::text_of(outputs_[i].sizes))
          .with_argument(static_cast<int>(inputs_.size() + i))
          .with_field(tensor.name);
    }
    outputs_[i].bytes = *bytes;
  }
  TANDEM_TRY(engine_scratch_bytes_, context_->scratch_bytes());
  return {};
}

bool TensorRTContext::has_planned_shape(const Output& output, const TensorArg& tensor) const noexcept {
  if (tensor.rank == 0) return output.sizes.empty() || (output.sizes.size() == 1 && output.sizes[0] == 1);
  return std::ranges::equal(output.sizes, tensor.size_span());
}

Status TensorRTContext::check_output(std::size_t i, const Argument& argument) const {
  if (argument.kind == Argument::Kind::None) return {};
  const Output& output = outputs_[i];
  const EngineTensor& tensor = loaded_->output(i);
  const TensorArg& value = argument.tensor;
  const std::size_t number = inputs_.size() + i;
  TANDEM_CHECK_OK(check_type(tensor, number, argument));
  if (value.device != loaded_->device) {
    return refuse("the tensor is on another device than the engine", tensor, number)
        .with_expected(to_string(loaded_->device), to_string(value.device));
  }
  const bool fits = value.resizable && output.sizes.size() == value.rank;
  if (!has_planned_shape(output, value) && !fits) {
    return refuse("the engine's output has another shape than the program plans", tensor, number)
        .with_expected(base::text_of(value.size_span()), base::text_of(output.sizes));
  }
  return {};
}

/// The library's part, then outputs that nobody wants. Never empty: tensors without elements point there.
void TensorRTContext::plan_scratch(std::span<const Argument* const> arguments) {
  std::size_t end = base::align_up(std::max<std::size_t>(engine_scratch_bytes_, 1), loaded_->alignment);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].place.reset();
    if (arguments[inputs_.size() + i]->is_tensor() || loaded_->bindings.alias_of[i]) continue;
    outputs_[i].place = end;
    end = base::align_up(end + outputs_[i].bytes, loaded_->alignment);
  }
  scratch_bytes_ = end;
}

Result<BoundLayout> TensorRTContext::bind(std::span<const Argument* const> arguments) {
  if (arguments.size() != inputs_.size() + outputs_.size()) {
    return Error{ErrorCode::InvalidProgram, "the delegate call has another number of arguments than the engine"}
        .with_expected(std::to_string(inputs_.size() + outputs_.size()), std::to_string(arguments.size()));
  }
  TANDEM_TRY(const bool changed, tell_shapes(arguments));
  if (changed) TANDEM_CHECK_OK(learn_outputs());
  for (std::size_t i = 0; i < outputs_.size(); ++i) TANDEM_CHECK_OK(check_output(i, *arguments[inputs_.size() + i]));
  plan_scratch(arguments);
  shapes_known_ = true;
  if (changed) told_scratch_ = nullptr;  // its size
  BoundLayout layout;
  layout.scratch_bytes = scratch_bytes_ + loaded_->alignment;  // to begin where the library wants it
  return layout;
}

Status TensorRTContext::tell_scratch(std::span<std::byte> scratch) {
  const auto begin = reinterpret_cast<std::uintptr_t>(scratch.data());
  const std::size_t skipped = base::align_up(begin, loaded_->alignment) - begin;
  scratch_ = scratch.data() + skipped;
  if (scratch_ == told_scratch_) return {};
  if (engine_scratch_bytes_ != 0) TANDEM_CHECK_OK(context_->set_scratch({scratch_, engine_scratch_bytes_}));
  told_scratch_ = scratch_;
  return {};
}

Status TensorRTContext::tell_address(std::size_t tensor, Told& told, void* address) {
  if (told.address == address) return {};
  told.address = nullptr;  // until the library has it
  TANDEM_CHECK_OK(context_->set_address(tensor, address));
  told.address = address;
  return {};
}

Result<void*> TensorRTContext::address_of(const EngineTensor& tensor, std::size_t argument, const Told& told,
                                          const Argument& from) const {
  if (told.bytes == 0) return scratch_;
  const TensorArg& value = from.tensor;
  if (value.data == nullptr) return refuse("the tensor has no memory", tensor, argument);
  if (value.capacity_bytes < told.bytes) {
    return refuse("the tensor's memory is too small", tensor, argument)
        .with_expected("at least " + std::to_string(told.bytes) + " bytes", std::to_string(value.capacity_bytes));
  }
  if (const std::size_t off = reinterpret_cast<std::uintptr_t>(value.data) % loaded_->alignment; off != 0) {
    return refuse("the tensor's address is not aligned", tensor, argument)
        .with_expected("a multiple of " + std::to_string(loaded_->alignment), std::to_string(off) + " beyond one");
  }
  return value.data;
}

Status TensorRTContext::enqueue(EnqueueArgs& args) {
  if (!shapes_known_) return Error{ErrorCode::InvalidState, "the engine's shapes are not bound"};
  TANDEM_CHECK_OK(tell_scratch(args.scratch));
  const Bindings& bindings = loaded_->bindings;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    TANDEM_TRY(void* const address, address_of(loaded_->input(i), i, inputs_[i], *args.arguments[i]));
    TANDEM_CHECK_OK(tell_address(bindings.inputs[i], inputs_[i], address));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    const std::size_t number = inputs_.size() + i;
    const Argument& argument = *args.arguments[number];
    void* address = output.place ? scratch_ + *output.place : nullptr;
    if (argument.is_tensor()) {
      TANDEM_TRY(address, address_of(loaded_->output(i), number, output, argument));
    }
    if (bindings.alias_of[i]) address = inputs_[*bindings.alias_of[i]].address;
    TANDEM_CHECK_OK(tell_address(bindings.outputs[i], output, address));
    args.outputs[i] = {};  // in place
    args.outputs[i].dtype = argument.tensor.dtype;
    if (!argument.is_tensor() || has_planned_shape(output, argument.tensor)) continue;
    args.outputs[i].rank = argument.tensor.rank;
    args.outputs[i].sizes = output.sizes.data();
  }
  TANDEM_CHECK_OK(context_->enqueue(args.stream.get()));
  return reflect(args);
}

Status TensorRTContext::reflect(EnqueueArgs& args) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Argument& argument = *args.arguments[inputs_.size() + i];
    if (!loaded_->bindings.alias_of[i] || !argument.is_tensor()) continue;
    void* const wanted = argument.tensor.data;
    if (wanted == outputs_[i].address) continue;
    TANDEM_CHECK_OK(args.stream.get().copy(wanted, outputs_[i].address, outputs_[i].bytes));
  }
  return {};
}

}  // namespace tandem::tensorrt
