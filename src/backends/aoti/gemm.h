#pragma once

#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace tandem::aoti {

/// A matrix in memory; strides in elements.
struct Matrix {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// Tells if gemm() multiplies matrices of this dtype.
[[nodiscard]] bool has_gemm(ScalarType dtype) noexcept;

/// out = beta * out + alpha * a @ b, all of one dtype on the host. With beta 0, `out` is not read.
///
/// float and double run on BLAS, operands of any strides; integers, complex numbers and reduced floats (which
/// accumulate in float) on plain loops.
/// Shapes: a is m x k, b is k x n, out is m x n; `out` overlaps neither.
/// Null on success, else why it can't be done.
[[nodiscard]] const char* gemm(ScalarType dtype, const Matrix& out, const Matrix& a, const Matrix& b, double beta,
                               double alpha);

}  // namespace tandem::aoti
