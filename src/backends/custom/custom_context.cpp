#include "backends/custom/custom_context.h"

#include "base/checked.h"
#include "base/guarded.h"
#include "base/text.h"

#include <tandem/tensor.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::custom {

CustomContext::CustomContext(std::unique_ptr<Instance> instance)
    : instance_{std::move(instance)},
      arguments_{instance_->setup().arguments},
      outputs_(instance_->declaration().output_count),
      numbers_(arguments_.size()) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const TandemCustomArgument& output = arguments_[first_output() + i];
    outputs_[i].sizes.resize(static_cast<std::size_t>(output.rank) + 1);  // never null
    outputs_[i].strides.resize(outputs_[i].sizes.size());
    output_sizes_.push_back(output.kind == TANDEM_CUSTOM_TENSOR ? outputs_[i].sizes.data() : nullptr);
  }
  const DeviceId device = instance_->setup().device;
  call_.struct_size = sizeof call_;
  call_.argument_count = static_cast<std::uint32_t>(arguments_.size());
  call_.arguments = arguments_.pointers();
  call_.device_type = static_cast<std::int32_t>(device.type);
  call_.device_index = device.index;
  call_.error = text_.data();
  call_.error_bytes = text_.size();
}

void CustomContext::begin_call(void* stream, std::span<std::byte> scratch) noexcept {
  text_.clear();
  call_.stream = stream;
  call_.scratch = scratch.data();
  call_.scratch_bytes = scratch.size();
}

Result<BoundLayout> CustomContext::bind(std::span<const Argument* const> arguments) {
  TANDEM_CHECK_OK(arguments_.check(arguments));
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments_.set(i, *arguments[i], nullptr);
  if (has_shapes()) TANDEM_CHECK_OK(find_shapes(arguments));
  BoundLayout layout;
  TANDEM_TRY(layout.scratch_bytes, find_scratch());
  return layout;
}

bool CustomContext::numbers_changed(std::span<Argument* const> arguments) const noexcept {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (numbers_[i] != number_bits(*arguments[i])) return true;
  }
  return false;
}

Status CustomContext::find_shapes(std::span<const Argument* const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) numbers_[i] = number_bits(*arguments[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    TandemCustomArgument& output = arguments_[first_output() + i];
    if (output.kind != TANDEM_CUSTOM_TENSOR) continue;
    const TensorArg& planned = arguments[first_output() + i]->tensor;
    for (std::size_t d = 0; d < planned.rank; ++d) outputs_[i].sizes[d] = planned.resizable ? -1 : planned.sizes[d];
    output.sizes = nullptr;
    output.strides = nullptr;
  }
  begin_call(nullptr, {});
  TANDEM_CHECK_OK(base::guarded(ErrorCode::BackendFailed, [this]() -> Status {
    const std::int32_t code = instance_->table().shapes(instance_->state(), &call_, output_sizes_.data());
    return code == 0 ? Status{} : Status{text_.error("shapes", code)};
  }));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Argument& output = *arguments[first_output() + i];
    if (!output.is_tensor()) continue;
    if (Status taken = take_shape(i, output.tensor); !taken.ok()) {
      return std::move(taken).error().with_argument(static_cast<int>(first_output() + i));
    }
  }
  return {};
}

/// Before the library writes there: the runtime looks at an output's sizes only afterwards.
Status CustomContext::take_shape(std::size_t output, const TensorArg& planned) {
  const std::span<const std::int64_t> sizes{outputs_[output].sizes.data(), planned.rank};
  if (!planned.resizable) {
    if (!std::ranges::equal(sizes, planned.size_span())) {
      return Error{ErrorCode::BackendFailed, "the library's shapes() gives another size than the program fixes"}
          .with_expected(base::text_of(planned.size_span()), base::text_of(sizes));
    }
  } else if (const auto bytes = base::checked_bytes(sizes, item_bytes(planned.dtype));
             !bytes || *bytes > planned.capacity_bytes) {
    return Error{ErrorCode::BackendFailed, "the library's shapes() gives a size that the output has no room for"}
        .with_expected("at most " + std::to_string(planned.capacity_bytes) + " bytes",
                       std::string{name_of(planned.dtype)} + base::text_of(sizes));
  }
  const std::span<std::int64_t> strides{outputs_[output].strides.data(), planned.rank};
  strides_from_dim_order(sizes, planned.order_span(), strides);
  TandemCustomArgument& argument = arguments_[first_output() + output];
  argument.sizes = sizes.data();
  argument.strides = strides.data();
  return {};
}

Result<std::size_t> CustomContext::find_scratch() {
  std::size_t bytes = 0;
  if (instance_->table().scratch_bytes == nullptr) return bytes;
  begin_call(nullptr, {});
  TANDEM_CHECK_OK(base::guarded(ErrorCode::BackendFailed, [&]() -> Status {
    bytes = instance_->table().scratch_bytes(instance_->state(), &call_);
    return {};
  }));
  return bytes;
}

Status CustomContext::enqueue(EnqueueArgs& args) {
  if (args.arguments.size() != arguments_.size() || args.outputs.size() != outputs_.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong number of delegate arguments"}.with_expected(
        std::to_string(arguments_.size()) + ", " + std::to_string(outputs_.size()) + " of them outputs",
        std::to_string(args.arguments.size()) + ", " + std::to_string(args.outputs.size()));
  }
  if (has_shapes() && numbers_changed(args.arguments)) {
    for (std::size_t i = 0; i < first_output(); ++i) arguments_.set(i, *args.arguments[i], nullptr);
    TANDEM_CHECK_OK(find_shapes({args.arguments.data(), args.arguments.size()}));
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = *args.arguments[i];
    if (i >= first_output() && has_shapes()) {
      arguments_[i].data = argument.tensor.data;  // sizes are those of shapes()
    } else {
      arguments_.set(i, argument, argument.tensor.data);
    }
  }
  auto call = [&](void* stream) {
    return base::guarded(ErrorCode::BackendFailed, [&]() -> Status {
      begin_call(stream, args.scratch);
      const std::int32_t code = instance_->table().enqueue(instance_->state(), &call_);
      return code == 0 ? Status{} : Status{text_.error("enqueue", code)};
    });
  };
  // A delegate of the host may be given the stream of a method on a GPU, which is none of its business.
  const bool on_host = instance_->setup().device == DeviceId{};
  TANDEM_CHECK_OK(on_host ? call(nullptr) : launch_on(args.stream.get(), call));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const TandemCustomArgument& output = arguments_[first_output() + i];
    args.outputs[i] = {};
    if (output.kind != TANDEM_CUSTOM_TENSOR) continue;
    args.outputs[i].dtype = static_cast<ScalarType>(output.dtype);
    args.outputs[i].rank = static_cast<std::uint8_t>(output.rank);
    args.outputs[i].sizes = output.sizes;
  }
  return {};
}

}  // namespace tandem::custom
