#include "facade/method_meta.h"

#include <variant>

namespace tandem::facade {
namespace {

ValueInfo describe_value(const format::ValueSpec& value) {
  ValueInfo info;
  if (const auto* tensor = std::get_if<format::Tensor>(&value)) {
    info.kind = Value::Kind::Tensor;
    info.tensor.dtype = tensor->dtype;
    info.tensor.sizes = tensor->sizes;
    info.tensor.dim_order = tensor->dim_order;
    info.tensor.dynamic = tensor->dynamism != format::ShapeDynamism::Static;
    info.tensor.memory_planned = tensor->allocation.has_value() || tensor->source != format::DataSource::None;
    info.tensor.device = tensor->device;
    info.tensor.nbytes = tensor->bytes;
    info.tensor.name = tensor->name;
    return info;
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) info.traced = *number;
  if (const auto* number = std::get_if<double>(&value)) info.traced = *number;
  if (const auto* flag = std::get_if<bool>(&value)) info.traced = *flag;
  if (const auto* text = std::get_if<std::string_view>(&value)) info.traced = std::string{*text};
  info.kind = info.traced.kind();
  return info;
}

}  // namespace

MethodMeta describe_method(const format::Method& method) {
  MethodMeta meta;
  meta.name = method.name;
  for (const std::int32_t input : method.inputs) {
    meta.inputs.push_back(describe_value(method.values[static_cast<std::size_t>(input)]));
  }
  for (const std::int32_t output : method.outputs) {
    meta.outputs.push_back(describe_value(method.values[static_cast<std::size_t>(output)]));
  }
  for (const format::Delegate& delegate : method.delegates) {
    if (!meta.uses_backend(delegate.id)) meta.backends.emplace_back(delegate.id);
  }
  for (std::size_t i = 1; i < method.arenas.size(); ++i) {
    meta.arena_bytes.push_back(method.arenas[i].bytes);
    meta.arena_devices.push_back(method.arenas[i].device);
  }
  for (const format::Chain& chain : method.chains) meta.instruction_count += chain.instructions.size();
  meta.delegate_count = method.delegates.size();
  return meta;
}

}  // namespace tandem::facade
