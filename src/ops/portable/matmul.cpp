#include "ops/portable/arguments.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/wrapping.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace tandem::ops::portable {
namespace {

// A matrix as BLAS takes it. The leading dimension is at least 1 and the row length.
struct BlasMatrix {
  CBLAS_TRANSPOSE transpose = CblasNoTrans;
  blasint leading = 1;
};

std::optional<blasint> leading_dimension(std::int64_t stride, std::int64_t row, bool single) noexcept {
  const std::int64_t least = std::max<std::int64_t>(row, 1);
  if (single) stride = least;  // one row: its stride is never used
  if (stride < least || stride > std::numeric_limits<blasint>::max()) return std::nullopt;
  return static_cast<blasint>(stride);
}

// Nothing when neither the rows nor the columns are dense.
std::optional<BlasMatrix> blas_matrix(const View& m) noexcept {
  if (m.strides[1] == 1 || m.sizes[1] == 1) {
    if (const auto leading = leading_dimension(m.strides[0], m.sizes[1], m.sizes[0] == 1)) {
      return BlasMatrix{CblasNoTrans, *leading};
    }
  }
  if (m.strides[0] == 1 || m.sizes[0] == 1) {
    if (const auto leading = leading_dimension(m.strides[1], m.sizes[0], m.sizes[1] == 1)) {
      return BlasMatrix{CblasTrans, *leading};
    }
  }
  return std::nullopt;
}

template <class T>
T* elements(const View& m) noexcept {
  return reinterpret_cast<T*>(m.data);
}

// out = alpha * a b + beta * out, if BLAS can.
template <class T>
bool blas_gemm(View out, View a, View b, T alpha, T beta) noexcept {
  auto c = blas_matrix(out);
  if (c && c->transpose == CblasTrans) {  // BLAS writes row by row: out^T = b^T a^T
    std::swap(a, b);
    for (View* m : {&out, &a, &b}) m->swap_axes(0, 1);
    c = blas_matrix(out);
  }
  const auto left = blas_matrix(a);
  const auto right = blas_matrix(b);
  constexpr std::int64_t kLargest = std::numeric_limits<blasint>::max();
  if (!c || c->transpose == CblasTrans || !left || !right) return false;
  if (std::max({out.sizes[0], out.sizes[1], a.sizes[1]}) > kLargest) return false;
  const auto rows = static_cast<blasint>(out.sizes[0]);
  const auto columns = static_cast<blasint>(out.sizes[1]);
  const auto inner = static_cast<blasint>(a.sizes[1]);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, left->transpose, right->transpose, rows, columns, inner, alpha, elements<T>(a),
                left->leading, elements<T>(b), right->leading, beta, elements<T>(out), c->leading);
  } else {
    cblas_dgemm(CblasRowMajor, left->transpose, right->transpose, rows, columns, inner, alpha, elements<T>(a),
                left->leading, elements<T>(b), right->leading, beta, elements<T>(out), c->leading);
  }
  return true;
}

// The same for any strides and dtype; the 16-bit floats add up in float and round once.
template <class T>
void plain_gemm(const View& out, const View& a, const View& b, Math<T> alpha, Math<T> beta) noexcept {
  using M = Math<T>;
  for (std::int64_t i = 0; i < out.sizes[0]; ++i) {
    for (std::int64_t j = 0; j < out.sizes[1]; ++j) {
      M sum{};
      for (std::int64_t k = 0; k < a.sizes[1]; ++k) {
        sum = wrapping_add(sum, wrapping_mul(load(elements<const T>(a)[i * a.strides[0] + k * a.strides[1]]),
                                             load(elements<const T>(b)[k * b.strides[0] + j * b.strides[1]])));
      }
      T& element = elements<T>(out)[i * out.strides[0] + j * out.strides[1]];
      // A factor of zero switches its term off, NaN and all, as in BLAS.
      const M product = alpha == M{} ? M{} : wrapping_mul(alpha, sum);
      element = store<T>(beta == M{} ? product : wrapping_add(product, wrapping_mul(beta, load(element))));
    }
  }
}

template <class T>
void gemm(const View& out, const View& a, const View& b, Math<T> alpha, Math<T> beta) noexcept {
  if (out.numel() == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (a.sizes[1] > 0 && blas_gemm<T>(out, a, b, alpha, beta)) return;
  }
  plain_gemm<T>(out, a, b, alpha, beta);
}

Status check_inner(const Shape& a, const Shape& b) {
  const std::size_t rank = a.rank();
  if (a[rank - 1] == b[rank - 2] && (rank == 2 || a[0] == b[0])) return {};
  return Error{ErrorCode::InvalidArgument, "matrices do not fit together"}.with_expected(text_of(a.span()),
                                                                                         text_of(b.span()));
}

Error no_kernel() { return Error{ErrorCode::InvalidType, "no kernel for this element type"}; }

/// Wire: self, mat1, mat2, beta, alpha, out, out.
Status accept_addmm(Specs specs) {
  Accept accept{specs};
  accept.count(7).tensor(0, kNumbers).tensor(1, kNumbers).tensor(2, kNumbers).number(3).number(4).output(5, kNumbers);
  accept.same_dtype(0, 1).same_dtype(2, 1).same_dtype(5, 1).rank(1, 2).rank(2, 2).rank(5, 2);
  if (accept.ok() && accept.at(0).sizes.size() > 2) {
    accept.fail(0, ErrorCode::InvalidArgument, "tensor has another rank", "at most 2",
                std::to_string(accept.at(0).sizes.size()));
  }
  return accept.done();
}

template <class T>
Status addmm(const View& out, const View& self, const View& a, const View& b, const Argument& beta,
             const Argument& alpha) {
  using Factor = std::conditional_t<kIsShortFloat<T>, float, T>;
  TANDEM_TRY(const Factor scale_self, number_as<Factor>(beta));
  TANDEM_TRY(const Factor scale_product, number_as<Factor>(alpha));
  if (scale_self != Factor{}) TANDEM_CHECK_OK(copy(out, self));
  gemm<T>(out, a, b, scale_product, scale_self);
  return {};
}

Status run_addmm(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  const View a = view_of(arguments[1]->tensor);
  const View b = view_of(arguments[2]->tensor);
  TensorArg& out = arguments[5]->tensor;
  TANDEM_TRY(const Argument* beta, number_at(arguments, 3));
  TANDEM_TRY(const Argument* alpha, number_at(arguments, 4));
  TANDEM_CHECK_OK(check_inner(a.sizes, b.sizes));
  const Shape sizes{std::array{a.sizes[0], b.sizes[1]}};
  TANDEM_TRY(const Shape common, broadcast(sizes, self.sizes));
  if (!std::ranges::equal(common.span(), sizes.span())) {
    return Error{ErrorCode::InvalidArgument, "tensor does not broadcast to the product"}
        .with_expected(text_of(sizes.span()), text_of(self.sizes.span()))
        .with_argument(0);
  }
  self.expand(sizes);
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  const auto apply = for_dtype<kNumbers>(out.dtype, []<class T>() { return &addmm<T>; });
  return apply == nullptr ? no_kernel() : apply(view_of(out), self, a, b, *beta, *alpha);
}

/// Wire: self, mat2, out, out.
template <std::size_t kRank>
Status accept_matmul(Specs specs) {
  Accept accept{specs};
  accept.count(4).tensor(0, kNumbers).tensor(1, kNumbers).output(2, kNumbers).same_dtype(1, 0).same_dtype(2, 0);
  return accept.rank(0, kRank).rank(1, kRank).rank(2, kRank).done();
}

template <class T>
void multiply(const View& out, const View& a, const View& b) noexcept {
  gemm<T>(out, a, b, Math<T>{1}, Math<T>{0});
}

Status run_mm(Arguments arguments) {
  const View a = view_of(arguments[0]->tensor);
  const View b = view_of(arguments[1]->tensor);
  TensorArg& out = arguments[2]->tensor;
  TANDEM_CHECK_OK(check_inner(a.sizes, b.sizes));
  TANDEM_CHECK_OK(runtime::resize(out, std::array{a.sizes[0], b.sizes[1]}));
  const auto apply = for_dtype<kNumbers>(out.dtype, []<class T>() { return &multiply<T>; });
  if (apply == nullptr) return no_kernel();
  apply(view_of(out), a, b);
  return {};
}

Status run_bmm(Arguments arguments) {
  const View a = view_of(arguments[0]->tensor);
  const View b = view_of(arguments[1]->tensor);
  TensorArg& out = arguments[2]->tensor;
  TANDEM_CHECK_OK(check_inner(a.sizes, b.sizes));
  TANDEM_CHECK_OK(runtime::resize(out, std::array{a.sizes[0], a.sizes[1], b.sizes[2]}));
  const auto apply = for_dtype<kNumbers>(out.dtype, []<class T>() { return &multiply<T>; });
  if (apply == nullptr) return no_kernel();
  for (std::int64_t i = 0; i < a.sizes[0]; ++i) {
    std::array<View, 3> matrices{view_of(out), a, b};
    for (View& m : matrices) m.select(0, i);
    apply(matrices[0], matrices[1], matrices[2]);
  }
  return {};
}

constexpr std::array kTable{
    runtime::Operator{"aten::addmm.out", "rrr--w=", &accept_addmm, &run_addmm},
    runtime::Operator{"aten::mm.out", "rrw=", &accept_matmul<2>, &run_mm},
    runtime::Operator{"aten::bmm.out", "rrw=", &accept_matmul<3>, &run_bmm},
};

}  // namespace

std::span<const runtime::Operator> matmul_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
