#include "ops/portable/arguments.h"
#include "ops/portable/reshape.h"
#include "ops/portable/set_number.h"
#include "ops/portable/tables.h"
#include "runtime/op.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

/// Operators between tensors and the program's own numbers, and the two that lowered loops and views need.
namespace tandem::ops::portable {
namespace {

/// Wire: self, dim, result.
Status accept_sym_size(Specs specs) { return Accept{specs}.count(3).any_tensor(0).integer(1).number(2).done(); }
Status run_sym_size(Arguments arguments) {
  const TensorArg& self = arguments[0]->tensor;
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  if (self.rank == 0) {
    return Error{ErrorCode::InvalidArgument, "tensor without axes has no size"}.with_argument(0);
  }
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank));
  set_number(*arguments[2], self.sizes[axis]);
  return {};
}

/// Wire: self, result.
Status accept_sym_numel(Specs specs) { return Accept{specs}.count(2).any_tensor(0).number(1).done(); }
Status run_sym_numel(Arguments arguments) {
  set_number(*arguments[1], arguments[0]->tensor.numel());
  return {};
}

template <class T>
void set_first(Argument& result, const void* data) noexcept {
  const auto value = load(*static_cast<const T*>(data));
  if constexpr (std::is_same_v<T, Bool>) {
    set_number(result, value);
  } else if constexpr (std::is_integral_v<T>) {
    set_number(result, std::int64_t{value});
  } else {
    set_number(result, double{value});
  }
}

/// Wire: self, result.
Status accept_local_scalar(Specs specs) { return Accept{specs}.count(2).tensor(0, kReal).number(1).done(); }
Status run_local_scalar(Arguments arguments) {
  const TensorArg& self = arguments[0]->tensor;
  if (self.numel() < 1) {
    return Error{ErrorCode::InvalidArgument, "tensor has no element to read"}
        .with_expected("at least 1 element", text_of(self.size_span()))
        .with_argument(0);
  }
  const auto read = for_dtype<kReal>(self.dtype, []<class T>() { return &set_first<T>; });
  if (read == nullptr) return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  read(*arguments[1], self.data);
  return {};
}

/// Wire: copy_to, copy_from, index.
Status accept_copy_index(Specs specs) {
  Accept accept{specs};
  accept.count(3).any_tensor(0).any_tensor(1).integer(2).same_dtype(1, 0);
  if (!accept.ok()) return accept.done();
  accept.rank(0, accept.at(1).sizes.size() + 1);
  // Growing any but the outermost axis would move what is already written.
  if (const auto order = accept.at(0).dim_order; accept.ok() && !order.empty() && order[0] != 0) {
    accept.fail(0, ErrorCode::NotSupported, "layout is not served", "axis 0 outermost",
                "axis " + std::to_string(order[0]) + " outermost");
  }
  return accept.done();
}

Status run_copy_index(Arguments arguments) {
  TensorArg& to = arguments[0]->tensor;
  const TensorArg& from = arguments[1]->tensor;
  TANDEM_TRY(const std::int64_t index, integer_at(arguments, 2));
  if (index < 0 || index == std::numeric_limits<std::int64_t>::max()) {
    return Error{ErrorCode::InvalidArgument, "index is out of range"}
        .with_expected("0 or more", std::to_string(index))
        .with_argument(2);
  }
  if (!std::ranges::equal(to.size_span().subspan(1), from.size_span())) {
    return Error{ErrorCode::InvalidArgument, "slice has another size than the tensor it goes to"}
        .with_expected(text_of(to.size_span().subspan(1)), text_of(from.size_span()))
        .with_argument(1);
  }
  Shape sizes{to.size_span()};
  sizes[0] = index + 1;
  TANDEM_CHECK_OK(runtime::resize(to, sizes.span()));
  View slice = view_of(to);
  slice.select(0, index);
  return copy(slice, view_of(from));
}

/// Wire: self, size, out. The result shares the bytes, so both must be planned row-major.
Status accept_view(Specs specs) {
  return Accept{specs}
      .count(3)
      .any_tensor(0)
      .integers(1)
      .any_tensor(2)
      .same_dtype(2, 0)
      .contiguous(0)
      .contiguous(2)
      .done();
}

Status run_view(Arguments arguments) {
  const TensorArg& self = arguments[0]->tensor;
  TensorArg& out = arguments[2]->tensor;
  if (!is_dense(view_of(self))) {
    return Error{ErrorCode::InvalidArgument, "view of a tensor whose elements are not in row-major order"}
        .with_expected("dense strides", text_of(self.stride_span()))
        .with_argument(0);
  }
  TANDEM_TRY(const Shape asked, integers_at(arguments, 1));
  TANDEM_TRY(const Shape sizes, inferred_size(asked, self.numel()));
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  // Also where the sizes were right already: nothing says that the strides were.
  strides_from_dim_order(out.size_span(), out.order_span(), out.stride_span());
  out.data = self.data;
  return {};
}

constexpr std::array kTable{
    runtime::Operator{"aten::sym_size.int", "s-o", &accept_sym_size, &run_sym_size},
    runtime::Operator{"aten::sym_numel", "so", &accept_sym_numel, &run_sym_numel},
    runtime::Operator{"aten::_local_scalar_dense", "ro", &accept_local_scalar, &run_local_scalar},
    runtime::Operator{"executorch_prim::et_copy_index.tensor", "pr-", &accept_copy_index, &run_copy_index},
    runtime::Operator{"executorch_prim::et_view.default", "s-a", &accept_view, &run_view},
};

}  // namespace

std::span<const runtime::Operator> tensor_prim_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
