#pragma once

#include <NvInferRuntime.h>
#include <cstddef>
#include <cstdint>

namespace tandem::nvinfer {

/// TensorRT's logger: keeps what is logged as an error by calls of this thread since clear().
/// Thread-safety: every member may be called from any thread; each thread has texts of its own.
class MessageLog final : public nvinfer1::ILogger {
 public:
  static void clear() noexcept;
  /// Copies the errors so far, as many as fit, with a zero at the end.
  static void copy_to(char* text, std::size_t capacity) noexcept;
  void log(Severity severity, const char* message) noexcept override;
};

}  // namespace tandem::nvinfer
