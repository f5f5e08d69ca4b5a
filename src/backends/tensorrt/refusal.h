#pragma once

#include <tandem/error.h>

#include <string>

namespace tandem::tensorrt {

/// A call that TensorRT answered with `text`, what it logged. BackendFailed.
[[nodiscard]] Error library_failed(std::string message, std::string text);

/// An engine that TensorRT did not take. IncompatibleDelegate, with both sides, where `text` says that version or
/// compute capability differ; else BackendFailed.
[[nodiscard]] Error engine_refused(std::string text);

}  // namespace tandem::tensorrt
