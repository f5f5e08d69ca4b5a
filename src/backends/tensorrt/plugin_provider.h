#pragma once

#include "backends/tensorrt/engine_provider.h"
#include "backends/tensorrt/gpu_calls.h"
#include "backends/tensorrt/plugin_api.h"

#include <memory>
#include <string>

namespace tandem::tensorrt {

/// TensorRT through the plug-in in the shared library `file`, which is opened when it is first needed and stays open.
/// A name without a slash is looked for beside Tandem itself, then where the dynamic loader looks.
///
/// Lifetime: `gpu` outlives it.
/// Errors of available() and deserialize(): NotSupported, naming what is not installed.
[[nodiscard]] std::shared_ptr<const EngineProvider> make_plugin_provider(std::string file, const GpuCalls& gpu);

}  // namespace tandem::tensorrt
