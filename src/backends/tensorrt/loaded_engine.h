#pragma once

#include "backends/tensorrt/bindings.h"
#include "backends/tensorrt/engine_provider.h"

#include <tandem/device.h>

#include <cstdint>
#include <memory>

namespace tandem::tensorrt {

/// What all contexts of a delegate share.
struct LoadedEngine {
  std::unique_ptr<const Engine> engine{};
  Bindings bindings{};
  DeviceId device{};
  std::uint32_t alignment = 1;  ///< Of addresses, in bytes.

  [[nodiscard]] const EngineTensor& input(std::size_t i) const { return engine->tensors()[bindings.inputs[i]]; }
  [[nodiscard]] const EngineTensor& output(std::size_t i) const { return engine->tensors()[bindings.outputs[i]]; }
};

}  // namespace tandem::tensorrt
