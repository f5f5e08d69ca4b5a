#include "cli/device_values.h"

#include <utility>

namespace tandem::cli {

Result<std::vector<Value>> to_device(std::span<const Value> inputs, const MethodMeta& meta, DeviceId device) {
  std::vector<Value> moved{inputs.begin(), inputs.end()};
  if (device == DeviceId{}) return moved;
  for (std::size_t i = 0; i < moved.size() && i < meta.inputs.size(); ++i) {
    if (!moved[i].is_tensor() || meta.inputs[i].tensor.device.type == DeviceType::Host) continue;
    TANDEM_TRY(Tensor there, moved[i].tensor().to(device));
    moved[i] = std::move(there);
  }
  return moved;
}

Result<std::vector<Value>> to_host(std::vector<Value> outputs) {
  for (Value& output : outputs) {
    if (!output.is_tensor() || output.tensor().device() == DeviceId{}) continue;
    TANDEM_TRY(Tensor here, output.tensor().to(DeviceId{}));
    output = std::move(here);
  }
  return outputs;
}

}  // namespace tandem::cli
