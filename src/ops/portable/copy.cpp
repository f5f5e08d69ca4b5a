#include "ops/portable/arguments.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"

#include <algorithm>
#include <array>

namespace tandem::ops::portable {
namespace {

Status write_first(Arguments arguments, std::size_t out) {
  return write(arguments[out]->tensor, view_of(arguments[0]->tensor));
}

/// Wire: self, out, out. The copies between host and device; on the host device both sides are host memory, whatever
/// device the program tags them with.
Status accept_plain_copy(Specs specs) {
  return Accept{specs}.count(3).any_tensor(0).any_output(1).same_dtype(1, 0).done();
}
Status run_plain_copy(Arguments arguments) { return write_first(arguments, 1); }

/// Wire: self, memory_format, out, out. The planned layout of `out` decides, here and below, not memory_format.
Status accept_clone(Specs specs) {
  return Accept{specs}.count(4).any_tensor(0).optional_integer(1).any_output(2).same_dtype(2, 0).done();
}
Status run_clone(Arguments arguments) { return write_first(arguments, 2); }

/// Wire: self, non_blocking, memory_format, out, out.
Status accept_to_copy(Specs specs) {
  return Accept{specs}.count(5).any_tensor(0).boolean(1).optional_integer(2).any_output(3).convertible(0, 3).done();
}

/// Wire: self, non_blocking, dim_order, out, out.
Status accept_to_dim_order(Specs specs) {
  Accept accept{specs};
  accept.count(5).any_tensor(0).boolean(1).any_output(3).convertible(0, 3).dim_order(2, 3);
  return accept.ok() ? accept.rank(3, accept.at(0).sizes.size()).done() : accept.done();
}
Status accept_clone_dim_order(Specs specs) {
  TANDEM_CHECK_OK(accept_to_dim_order(specs));
  return Accept{specs}.same_dtype(3, 0).done();
}
Status run_copy_to_fourth(Arguments arguments) { return write_first(arguments, 3); }

/// Wire: size, dim_order, out, out. Nothing is written: the contents of an empty tensor are undefined.
Status accept_empty_dim_order(Specs specs) {
  return Accept{specs}.count(4).integers(0).any_output(2).dim_order(1, 2).done();
}
Status run_empty_dim_order(Arguments arguments) {
  TANDEM_TRY(const Shape sizes, integers_at(arguments, 0));
  return runtime::resize(arguments[2]->tensor, sizes.span());
}

// Writes `source`, repeated where it broadcasts, to all of `out`.
Status write_broadcast(const TensorArg& out, const TensorArg& source) {
  const View target = view_of(out);
  View elements = view_of(source);
  TANDEM_TRY(const Shape common, broadcast(target.sizes, elements.sizes));
  if (!std::ranges::equal(common.span(), target.sizes.span())) {
    return Error{ErrorCode::InvalidArgument, "source does not broadcast to the destination"}.with_expected(
        text_of(target.sizes.span()), text_of(elements.sizes.span()));
  }
  elements.expand(target.sizes);
  return copy(target, elements);
}

/// Wire: self, src, non_blocking, self. Every byte of self is overwritten, its sizes stay.
Status accept_copy_in_place(Specs specs) {
  return Accept{specs}.count(4).any_tensor(0).any_tensor(1).boolean(2).any_tensor(3).convertible(1, 0).done();
}
Status run_copy_in_place(Arguments arguments) { return write_broadcast(arguments[0]->tensor, arguments[1]->tensor); }

/// Wire: self, src, non_blocking, out, out. Of self only the sizes count.
Status accept_copy(Specs specs) {
  return Accept{specs}
      .count(5)
      .any_tensor(0)
      .any_tensor(1)
      .boolean(2)
      .any_output(3)
      .same_dtype(3, 0)
      .convertible(1, 3)
      .done();
}
Status run_copy(Arguments arguments) {
  TensorArg& out = arguments[3]->tensor;
  TANDEM_CHECK_OK(runtime::resize(out, arguments[0]->tensor.size_span()));
  return write_broadcast(out, arguments[1]->tensor);
}

constexpr std::array kTable{
    runtime::Operator{"et_copy::_h2d_copy.out", "rw=", &accept_plain_copy, &run_plain_copy},
    runtime::Operator{"et_copy::_d2h_copy.out", "rw=", &accept_plain_copy, &run_plain_copy},
    runtime::Operator{"aten::alias_copy.out", "rw=", &accept_plain_copy, &run_plain_copy},
    runtime::Operator{"aten::detach_copy.out", "rw=", &accept_plain_copy, &run_plain_copy},
    runtime::Operator{"aten::clone.out", "r-w=", &accept_clone, &run_clone},
    runtime::Operator{"aten::_to_copy.out", "r--w=", &accept_to_copy, &run_copy_to_fourth},
    runtime::Operator{"aten::copy.out", "sr-w=", &accept_copy, &run_copy},
    runtime::Operator{"aten::copy_", "wr-=", &accept_copy_in_place, &run_copy_in_place},
    runtime::Operator{"dim_order_ops::_to_dim_order_copy.out", "r--w=", &accept_to_dim_order, &run_copy_to_fourth},
    runtime::Operator{"dim_order_ops::_clone_dim_order.out", "r--w=", &accept_clone_dim_order, &run_copy_to_fourth},
    runtime::Operator{"dim_order_ops::_empty_dim_order.out", "--w=", &accept_empty_dim_order, &run_empty_dim_order},
};

}  // namespace

std::span<const runtime::Operator> copy_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
