#pragma once

#include "backends/tensorrt/engine_provider.h"

#include <tandem/backend.h>

#include <memory>

namespace tandem::tensorrt {

/// `TensorRTBackend`: blobs of Torch-TensorRT's ExecuTorch backend, over any library that keeps TensorRT's contract.
[[nodiscard]] std::shared_ptr<Backend> make_tensorrt_backend(std::shared_ptr<const EngineProvider> provider);
/// Over TensorRT itself, which is looked for when it is first needed.
[[nodiscard]] std::shared_ptr<Backend> make_tensorrt_backend();

}  // namespace tandem::tensorrt
