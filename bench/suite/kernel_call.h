#pragma once

#include <cstdint>

namespace tandem::suite {

/// What the suite's kernels compute, on floats. `in`, `out`, `rows`... are those of the KernelCall.
enum class Op : std::uint32_t {
  /// out[i] = in0[i] * scale + amount, `repeats` times; rows * columns elements. On a GPU by `blocks` blocks, so that
  /// `repeats` is the time it takes.
  Affine,
  /// out[i] = in0[i] + in1[i] + in2[i] + in3[i].
  Sum4,
  /// out[r][c] = sum over k of in0[r][k] * in1[k][c], with rows, inner, columns. Then + in2[r][c], if there is an in2.
  MatMul,
  /// The same through GELU (its tanh form) instead of + in2.
  MatMulGelu,
  /// Each row of in0[rows][columns] to mean 0 and variance 1.
  LayerNorm,
  /// Causal attention: in0[rows][3 * columns] has query, key and value of each row side by side; out[rows][columns].
  /// `heads` of columns / heads each. rows <= kMostRows.
  Attention,
  /// One row of that: in0[3 * columns]; its key and value go to row *in3 (an int64, clamped) of the caches in1 and
  /// in2[rows][columns], which are updated, and rows 0 to *in3 are attended to. rows <= kMostRows.
  AttendCache,
};

inline constexpr std::int64_t kMostRows = 1024;

/// One launch, with its addresses; what a kernel of CUDA takes as its parameter.
struct KernelCall {
  Op op = Op::Affine;
  std::int32_t heads = 1;
  std::int32_t repeats = 1;
  std::int32_t blocks = 1;
  float scale = 1;
  float amount = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t inner = 1;
  const void* in[4] = {};
  void* out = nullptr;
};

}  // namespace tandem::suite
