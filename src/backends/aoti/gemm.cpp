#include "backends/aoti/gemm.h"

#include "backends/aoti/element.h"

#include <cblas.h>
#include <algorithm>
#include <climits>
#include <optional>
#include <type_traits>
#include <vector>

namespace tandem::aoti {
namespace {

template <class T>
T* elements(const Matrix& matrix) noexcept {
  return reinterpret_cast<T*>(matrix.data);
}

/// How BLAS reads a matrix without a copy: row-major with a leading dimension, or the transpose of that.
struct Operand {
  bool transposed = false;
  blasint leading = 0;
};

std::optional<Operand> as_operand(const Matrix& matrix) noexcept {
  const auto fits = [](std::int64_t leading, std::int64_t least) { return leading >= least && leading <= INT_MAX; };
  // The stride of an extent of 1 is never used, so it need not be a sensible one.
  if (matrix.column_stride == 1 || matrix.columns == 1) {
    const std::int64_t leading = matrix.rows == 1 ? std::max<std::int64_t>(matrix.columns, 1) : matrix.row_stride;
    if (fits(leading, std::max<std::int64_t>(matrix.columns, 1))) return Operand{false, static_cast<blasint>(leading)};
  }
  if (matrix.row_stride == 1 || matrix.rows == 1) {
    const std::int64_t leading = matrix.columns == 1 ? std::max<std::int64_t>(matrix.rows, 1) : matrix.column_stride;
    if (fits(leading, std::max<std::int64_t>(matrix.rows, 1))) return Operand{true, static_cast<blasint>(leading)};
  }
  return std::nullopt;
}

template <class T>
void copy_matrix(const Matrix& to, const Matrix& from) noexcept {
  for (std::int64_t i = 0; i < to.rows; ++i) {
    for (std::int64_t j = 0; j < to.columns; ++j) {
      elements<T>(to)[i * to.row_stride + j * to.column_stride] =
          elements<T>(from)[i * from.row_stride + j * from.column_stride];
    }
  }
}

/// A row-major matrix over `memory`, which grows to hold it.
template <class T>
Matrix packed(std::vector<T>& memory, std::int64_t rows, std::int64_t columns) {
  memory.resize(static_cast<std::size_t>(rows * columns));
  return {reinterpret_cast<std::byte*>(memory.data()), rows, columns, columns, 1};
}

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, float alpha, const float* a,
               blasint lda, const float* b, blasint ldb, float beta, float* c, blasint ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, double alpha, const double* a,
               blasint lda, const double* b, blasint ldb, double beta, double* c, blasint ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

Matrix transpose(const Matrix& matrix) noexcept {
  return {matrix.data, matrix.columns, matrix.rows, matrix.column_stride, matrix.row_stride};
}

template <class T>
const char* gemm_blas(const Matrix& out, const Matrix& a, const Matrix& b, double beta, double alpha) {
  if (out.rows > INT_MAX || out.columns > INT_MAX || a.columns > INT_MAX) return "a dimension exceeds 2^31 - 1";
  const std::optional<Operand> target = as_operand(out);
  if (target && target->transposed) return gemm_blas<T>(transpose(out), transpose(b), transpose(a), beta, alpha);
  if (!target) {
    std::vector<T> memory;
    const Matrix copy = packed(memory, out.rows, out.columns);
    if (beta != 0) copy_matrix<T>(copy, out);
    const char* why = gemm_blas<T>(copy, a, b, beta, alpha);
    if (why == nullptr) copy_matrix<T>(out, copy);
    return why;
  }
  std::vector<T> a_memory;
  std::vector<T> b_memory;
  Matrix left = a;
  Matrix right = b;
  if (!as_operand(a)) {
    left = packed(a_memory, a.rows, a.columns);
    copy_matrix<T>(left, a);
  }
  if (!as_operand(b)) {
    right = packed(b_memory, b.rows, b.columns);
    copy_matrix<T>(right, b);
  }
  const Operand left_operand = *as_operand(left);
  const Operand right_operand = *as_operand(right);
  call_blas(left_operand.transposed ? CblasTrans : CblasNoTrans, right_operand.transposed ? CblasTrans : CblasNoTrans,
            static_cast<blasint>(out.rows), static_cast<blasint>(out.columns), static_cast<blasint>(a.columns),
            static_cast<T>(alpha), elements<T>(left), left_operand.leading, elements<T>(right), right_operand.leading,
            static_cast<T>(beta), elements<T>(out), target->leading);
  return nullptr;
}

/// What sums are kept in. Integers wrap, as ATen's do; unsigned so that wrapping is defined.
template <class T>
struct AccumulatorOf {
  using Type = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
};
template <>
struct AccumulatorOf<Half> {
  using Type = float;
};
template <>
struct AccumulatorOf<BFloat16> {
  using Type = float;
};

template <class T>
void gemm_loops(const Matrix& out, const Matrix& a, const Matrix& b, double beta, double alpha) noexcept {
  using Sum = typename AccumulatorOf<T>::Type;
  const auto factor = [](double value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Sum>(convert<std::int64_t>(value));
    } else if constexpr (std::is_same_v<Sum, std::complex<float>>) {
      return Sum{static_cast<float>(value)};
    } else {
      return static_cast<Sum>(value);
    }
  };
  const Sum scale = factor(alpha);
  const Sum keep = factor(beta);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.columns; ++j) {
      Sum sum{};
      for (std::int64_t k = 0; k < a.columns; ++k) {
        sum += static_cast<Sum>(elements<T>(a)[i * a.row_stride + k * a.column_stride]) *
               static_cast<Sum>(elements<T>(b)[k * b.row_stride + j * b.column_stride]);
      }
      T& target = elements<T>(out)[i * out.row_stride + j * out.column_stride];
      const Sum kept = beta == 0 ? Sum{} : keep * static_cast<Sum>(target);
      target = static_cast<T>(kept + scale * sum);
    }
  }
}

}  // namespace

bool has_gemm(ScalarType dtype) noexcept {
  switch (dtype) {
    case ScalarType::Float:
    case ScalarType::Double:
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
    case ScalarType::ComplexFloat:
    case ScalarType::ComplexDouble:
      return true;
    default:
      return false;
  }
}

const char* gemm(ScalarType dtype, const Matrix& out, const Matrix& a, const Matrix& b, double beta, double alpha) {
  if (out.rows == 0 || out.columns == 0) return nullptr;
  switch (dtype) {
    case ScalarType::Float:
      return gemm_blas<float>(out, a, b, beta, alpha);
    case ScalarType::Double:
      return gemm_blas<double>(out, a, b, beta, alpha);
    case ScalarType::Half:
      gemm_loops<Half>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::BFloat16:
      gemm_loops<BFloat16>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::Byte:
      gemm_loops<std::uint8_t>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::Char:
      gemm_loops<std::int8_t>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::Short:
      gemm_loops<std::int16_t>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::Int:
      gemm_loops<std::int32_t>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::Long:
      gemm_loops<std::int64_t>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::ComplexFloat:
      gemm_loops<std::complex<float>>(out, a, b, beta, alpha);
      return nullptr;
    case ScalarType::ComplexDouble:
      gemm_loops<std::complex<double>>(out, a, b, beta, alpha);
      return nullptr;
    default:
      return "matrix products of this dtype are not supported";
  }
}

}  // namespace tandem::aoti
