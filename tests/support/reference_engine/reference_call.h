#pragma once

#include <cstdint>

namespace tandem::testing {

/// What a reference engine computes. All tensors are float, but for a position, which is int64.
enum class ReferenceOp : std::uint8_t {
  Affine,  ///< (x) -> scale * x + amount
  Add,     ///< (x, y) -> scale * x + y + amount
  Sum,     ///< (x) -> scale * sum(x) + amount, of shape [1]
  /// (token [1, c], position [1], cache [r, c]) -> sum of the cache's rows 0..position [1, c], cache. The token becomes
  /// row `position` first.
  Cache,
};

/// One run of an engine, in two kernels: into scratch, and from there to the outputs.
struct ReferenceCall {
  ReferenceOp op = ReferenceOp::Affine;
  float scale = 1;
  float amount = 0;
  std::int64_t spin_cycles = 0;  ///< Of the device's clock, before the first kernel reads. The host does not spin.
  const float* x = nullptr;
  const float* y = nullptr;
  const std::int64_t* position = nullptr;
  float* cache = nullptr;
  float* scratch = nullptr;
  float* out = nullptr;
  std::int64_t count = 0;  ///< Elements of x.
  std::int64_t rows = 0;   ///< Of the cache.
};

}  // namespace tandem::testing
