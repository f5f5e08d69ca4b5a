#include "runtime/execute/inputs.h"

#include "base/strided_copy.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

/// What AOTInductor's code assumes of its inputs.
constexpr std::uintptr_t kInputAlignment = 16;

std::string_view kind_name(Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::Tensor:
      return "a tensor";
    case Argument::Kind::Int:
      return "an int";
    case Argument::Kind::Double:
      return "a float";
    case Argument::Kind::Bool:
      return "a bool";
    case Argument::Kind::String:
      return "a string";
    default:
      return "none";
  }
}

std::string describe(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::None:
      return "none";
    case Value::Kind::Tensor:
      return value.tensor().defined()
                 ? std::string{name_of(value.tensor().dtype())} + base::text_of(value.tensor().sizes())
                 : "an undefined tensor";
    case Value::Kind::Int:
      return "int " + std::to_string(value.to_int());
    case Value::Kind::Double:
      return "float " + std::to_string(value.to_double());
    case Value::Kind::Bool:
      return value.to_bool() ? "true" : "false";
    case Value::Kind::String:
      return "'" + value.to_text() + "'";
  }
  return "unknown";
}

/// Source: the comparison of ExecuTorch's Method::set_input.
bool close(double a, double b) noexcept {
  if (std::isnan(a) && std::isnan(b)) return true;
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= 1e-4 + 1e-5 * std::fabs(b);
}

/// The sizes that delegates and the caller leave of those that the program bounds.
Status check_bounds(std::span<const SizeBounds> bounds, const Tensor& tensor) {
  for (std::size_t axis = 0; axis < bounds.size(); ++axis) {
    const std::int64_t size = tensor.sizes()[axis];
    if (takes(bounds[axis], size)) continue;
    return Error{ErrorCode::InvalidArgument, size_refusal(bounds[axis], axis, size)}.with_expected(
        text_of(bounds[axis]), std::to_string(size) + " of " + describe(tensor));
  }
  return {};
}

Status check_tensor(const Schedule& schedule, const InputPlan& plan, const Tensor& tensor) {
  const std::uint32_t value = plan.value;
  const ArgumentSpec& spec = schedule.values[value].spec;
  if (!tensor.defined()) return Error{ErrorCode::InvalidArgument, "the tensor is undefined"};
  const auto expected = [&spec] {
    return std::string{name_of(spec.dtype)} + (spec.dynamic ? " of at most " : "") + base::text_of(spec.sizes);
  };
  if (tensor.device() != schedule.values[value].device) {
    return Error{ErrorCode::InvalidArgument, "the tensor is on another device"}.with_expected(
        to_string(schedule.values[value].device), to_string(tensor.device()));
  }
  if (tensor.dtype() != spec.dtype) {
    return Error{ErrorCode::InvalidType, "wrong dtype"}.with_expected(expected(), describe(tensor));
  }
  if (tensor.rank() != spec.sizes.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong rank"}.with_expected(expected(), describe(tensor));
  }
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
    const std::int64_t size = tensor.sizes()[i];
    if (spec.dynamic ? size > spec.sizes[i] : size != spec.sizes[i]) {
      return Error{ErrorCode::InvalidArgument, spec.dynamic ? "a size is over the program's bound" : "wrong size"}
          .with_expected(expected(), describe(tensor));
    }
  }
  return check_bounds(plan.bounds, tensor);
}

Status check_value(const Schedule& schedule, const InputPlan& plan, const Value& value) {
  const Argument& stored = schedule.stored[plan.value];
  const auto mismatch = [&](ErrorCode code, std::string message, std::string expected) {
    return Error{code, std::move(message)}.with_expected(std::move(expected), describe(value));
  };
  const auto traced = [&](bool equal, std::string expected) -> Status {
    if (equal) return {};
    return mismatch(ErrorCode::InvalidArgument, "the program was exported for another value", std::move(expected));
  };
  switch (stored.kind) {
    case Argument::Kind::Tensor:
      if (value.is_tensor()) return check_tensor(schedule, plan, value.tensor());
      break;
    case Argument::Kind::Int:
      if (value.kind() == Value::Kind::Int) {
        return traced(value.to_int() == stored.integer, "int " + std::to_string(stored.integer));
      }
      break;
    case Argument::Kind::Double:
      if (value.kind() == Value::Kind::Double) {
        return traced(close(value.to_double(), stored.number), "float " + std::to_string(stored.number));
      }
      break;
    case Argument::Kind::Bool:
      if (value.kind() == Value::Kind::Bool) {
        return traced(value.to_bool() == stored.flag, stored.flag ? "true" : "false");
      }
      break;
    case Argument::Kind::String:
      if (value.kind() == Value::Kind::String) {
        return traced(value.to_text() == stored.text, "'" + std::string{stored.text} + "'");
      }
      break;
    default:
      if (value.is_none()) return {};
      break;
  }
  return mismatch(ErrorCode::InvalidType, "wrong kind of value", std::string{kind_name(stored.kind)});
}

}  // namespace

Status check_input(const Schedule& schedule, const Value& value, std::size_t index) {
  Status checked = check_value(schedule, schedule.inputs[index], value);
  if (checked.ok()) return {};
  return std::move(checked)
      .error()
      .with_method(std::string{schedule.method})
      .with_field("input " + std::to_string(index))
      .with_argument(static_cast<int>(index));
}

Status check_inputs(const Schedule& schedule, std::span<const Value> values) {
  if (values.size() != schedule.inputs.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong number of inputs"}
        .with_expected(std::to_string(schedule.inputs.size()), std::to_string(values.size()))
        .with_method(std::string{schedule.method});
  }
  for (std::size_t i = 0; i < values.size(); ++i) TANDEM_CHECK_OK(check_input(schedule, values[i], i));
  return {};
}

bool can_adopt(const Schedule& schedule, const Tensor& tensor, std::size_t index) {
  const InputPlan& plan = schedule.inputs[index];
  std::array<std::int64_t, kMaxRank> strides{};
  const std::span<std::int64_t> planned{strides.data(), tensor.rank()};
  strides_from_dim_order(tensor.sizes(), schedule.values[plan.value].spec.dim_order, planned);
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data()) % kInputAlignment == 0;
  return !plan.copied && aligned && tensor.data() != nullptr &&
         base::same_layout(tensor.sizes(), tensor.strides(), planned);
}

Status set_tensor_input(Instance& instance, const Tensor& tensor, std::size_t index, bool must_copy,
                        device::Stream* stream) {
  const InputPlan& plan = instance.schedule().inputs[index];
  TensorArg& input = instance.value(plan.value).tensor;
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), input.sizes);
  strides_from_dim_order(input.size_span(), input.order_span(), input.stride_span());
  if (!must_copy && can_adopt(instance.schedule(), tensor, index)) {
    input.data = tensor.data();
    return {};
  }
  TANDEM_TRY(input.data, instance.input_copy(index));
  if (tensor.device() == DeviceId{}) {
    base::copy_strided(input.data, input.stride_span(), tensor.data(), tensor.strides(), tensor.sizes(),
                       item_bytes(input.dtype));
    return {};
  }
  if (!base::same_layout(tensor.sizes(), tensor.strides(), input.stride_span())) {
    return Error{ErrorCode::NotSupported, "an input on the device has to be dense in the planned layout"}
        .with_expected(base::text_of(input.stride_span()), base::text_of(tensor.strides()))
        .with_argument(static_cast<int>(index));
  }
  return stream->copy(input.data, tensor.data(), tensor.nbytes());
}

}  // namespace tandem::runtime
