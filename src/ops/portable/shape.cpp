#include "base/checked.h"
#include "ops/portable/arguments.h"
#include "ops/portable/output.h"
#include "ops/portable/reshape.h"
#include "ops/portable/tables.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

/// Operators that only say where each element of the result comes from. Most are one function from the arguments to a
/// view of the first one.
namespace tandem::ops::portable {
namespace {

constexpr int kAnyRank = 100;  // no rank change is that large

/// Wire: self, one argument per check, out, out. `kRankChange` is the rank of out less that of self.
template <int kRankChange, Accept& (Accept::*... kChecks)(std::size_t)>
Status accept_view(Specs specs) {
  Accept accept{specs};
  accept.count(sizeof...(kChecks) + 3).any_tensor(0);
  std::size_t index = 1;
  ((accept.*kChecks)(index++), ...);
  accept.any_output(index).same_dtype(index, 0);
  if constexpr (kRankChange != kAnyRank) {
    if (!accept.ok()) return accept.done();
    const auto rank = static_cast<int>(accept.at(0).sizes.size()) + kRankChange;
    if (rank < 0) accept.fail(0, ErrorCode::InvalidArgument, "tensor has no axes", "at least rank 1", "rank 0");
    accept.rank(index, static_cast<std::size_t>(rank));
  }
  return accept.done();
}

template <Result<View> (*kView)(Arguments)>
Status run_view(Arguments arguments) {
  TANDEM_TRY(const View view, kView(arguments));
  return write(arguments[arguments.size() - 2]->tensor, view);
}

Error bad(const char* why, std::string expected, std::string found) {
  return Error{ErrorCode::InvalidArgument, why}.with_expected(std::move(expected), std::move(found));
}

Result<View> permuted(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const Shape order, integers_at(arguments, 1));
  if (order.rank() != self.rank()) {
    return bad("permutation has another length", std::to_string(self.rank()), std::to_string(order.rank()));
  }
  View result = self;
  std::array<bool, kMaxRank> used{};
  for (std::size_t d = 0; d < order.rank(); ++d) {
    TANDEM_TRY(const std::size_t axis, wrap_axis(order[d], self.rank()));
    if (std::exchange(used[axis], true)) {
      return bad("permutation names an axis twice", "every axis once", text_of(order.span()));
    }
    result.sizes[d] = self.sizes[axis];
    result.strides[d] = self.strides[axis];
  }
  return result;
}

Result<View> transposed(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t first, integer_at(arguments, 1));
  TANDEM_TRY(const std::int64_t second, integer_at(arguments, 2));
  TANDEM_TRY(const std::size_t a, wrap_axis(first, self.rank()));
  TANDEM_TRY(const std::size_t b, wrap_axis(second, self.rank()));
  if (self.rank() > 0) self.swap_axes(a, b);
  return self;
}

Result<View> matrix_transposed(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  if (self.rank() == 2) self.swap_axes(0, 1);
  return self;
}

Status accept_t_copy(Specs specs) {
  TANDEM_CHECK_OK(accept_view<0>(specs));
  Accept accept{specs};
  if (accept.at(0).sizes.size() > 2) {
    accept.fail(0, ErrorCode::InvalidArgument, "tensor has another rank", "at most 2",
                std::to_string(accept.at(0).sizes.size()));
  }
  return accept.done();
}

Result<View> unsqueezed(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  if (self.rank() == kMaxRank) return bad("result has too many axes", "at most 16", "17");
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank() + 1));
  self.insert_axis(axis);
  return self;
}

// Drops those of the marked axes that have size 1.
View without(View self, const std::array<bool, kMaxRank>& marked) noexcept {
  for (std::size_t axis = self.rank(); axis-- > 0;) {
    if (marked[axis] && self.sizes[axis] == 1) self.erase_axis(axis);
  }
  return self;
}

Result<View> squeezed_axis(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  std::array<bool, kMaxRank> marked{};
  marked[axis] = true;
  return without(self, marked);
}

Result<View> squeezed_axes(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const Shape dims, integers_at(arguments, 1));
  std::array<bool, kMaxRank> marked{};
  for (const std::int64_t dim : dims.span()) {
    TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
    if (std::exchange(marked[axis], true)) {
      return bad("list names an axis twice", "every axis at most once", text_of(dims.span()));
    }
  }
  return without(self, marked);
}

Result<View> expanded(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(Shape wanted, integers_at(arguments, 1));
  const std::string asked = wanted.rank() < self.rank() ? text_of(wanted.span()) : std::string{};
  if (wanted.rank() < self.rank()) return bad("size has fewer axes than the tensor", text_of(self.sizes.span()), asked);
  const std::size_t added = wanted.rank() - self.rank();
  for (std::size_t d = 0; d < wanted.rank(); ++d) {
    const bool keeps = wanted[d] == -1 && d >= added;
    if (keeps) wanted[d] = self.sizes[d - added];
    const bool fits = wanted[d] >= 0 && (d < added || self.sizes[d - added] == wanted[d] || self.sizes[d - added] == 1);
    if (!fits) return bad("tensor does not expand to the size", text_of(self.sizes.span()), text_of(wanted.span()));
  }
  self.expand(wanted);
  return self;
}

Result<View> selected(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  TANDEM_TRY(const std::int64_t index, integer_at(arguments, 2));
  if (self.rank() == 0) return bad("tensor without axes has nothing to select", "an axis", "rank 0");
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  TANDEM_TRY(const std::int64_t at, wrap_index(index, self.sizes[axis], axis));
  self.select(axis, at);
  return self;
}

// A bound of a slice, cut to [low, size].
std::int64_t slice_bound(std::int64_t bound, std::int64_t low, std::int64_t size) noexcept {
  return std::clamp(bound < 0 ? bound + size : bound, low, size);
}

Result<View> sliced(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  TANDEM_TRY(const std::optional<std::int64_t> from, optional_integer_at(arguments, 2));
  TANDEM_TRY(const std::optional<std::int64_t> to, optional_integer_at(arguments, 3));
  TANDEM_TRY(const std::int64_t step, integer_at(arguments, 4));
  if (self.rank() == 0) return bad("tensor without axes cannot be sliced", "an axis", "rank 0");
  if (step <= 0) return bad("slice step is not positive", "at least 1", std::to_string(step));
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  const std::int64_t size = self.sizes[axis];
  const std::int64_t start = slice_bound(from.value_or(0), 0, size);
  const std::int64_t end = slice_bound(to.value_or(size), start, size);
  const std::int64_t length = end - start;
  self.narrow(axis, start, length / step + (length % step != 0 ? 1 : 0));
  // A step beyond the axis takes one element; multiplied, it could overflow.
  self.strides[axis] *= std::min(step, std::max<std::int64_t>(length, 1));
  return self;
}

/// Wire: self, size, out, out.
Status run_view_copy(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TensorArg& out = arguments[2]->tensor;
  TANDEM_TRY(const Shape asked, integers_at(arguments, 1));
  TANDEM_TRY(const Shape sizes, inferred_size(asked, self.numel()));
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  copy_in_order(view_of(out), self);
  return {};
}

/// Wire: self, repeats, out, out.
Status run_repeat(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TensorArg& out = arguments[2]->tensor;
  TANDEM_TRY(const Shape repeats, integers_at(arguments, 1));
  if (repeats.rank() < self.rank()) {
    return bad("fewer repeats than axes", "at least " + std::to_string(self.rank()), std::to_string(repeats.rank()));
  }
  while (self.rank() < repeats.rank()) self.insert_axis(0);
  Shape sizes = self.sizes;
  for (std::size_t d = 0; d < repeats.rank(); ++d) {
    const auto size = base::checked_mul(sizes[d], repeats[d]);
    if (repeats[d] < 0 || !size) return bad("bad number of repeats", "0 or more", std::to_string(repeats[d]));
    sizes[d] = *size;
  }
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  const View target = view_of(out);
  if (target.numel() == 0) return {};
  // One copy of self per tile.
  Shape tile{repeats};
  for (std::size_t d = 0; d < tile.rank(); ++d) tile[d] = 0;
  for (;;) {
    View place = target;
    for (std::size_t d = 0; d < tile.rank(); ++d) place.narrow(d, tile[d] * self.sizes[d], self.sizes[d]);
    TANDEM_CHECK_OK(copy(place, self));
    std::size_t d = tile.rank();
    while (d > 0 && ++tile[d - 1] == repeats[d - 1]) tile[--d] = 0;
    if (d == 0) return {};
  }
}

constexpr std::array kTable{
    runtime::Operator{"aten::permute_copy.out", "r-w=", &accept_view<0, &Accept::integers>, &run_view<&permuted>},
    runtime::Operator{"aten::transpose_copy.int_out", "r--w=", &accept_view<0, &Accept::integer, &Accept::integer>,
                      &run_view<&transposed>},
    runtime::Operator{"aten::t_copy.out", "rw=", &accept_t_copy, &run_view<&matrix_transposed>},
    runtime::Operator{"aten::unsqueeze_copy.out", "r-w=", &accept_view<1, &Accept::integer>, &run_view<&unsqueezed>},
    runtime::Operator{"aten::squeeze_copy.dim_out", "r-w=", &accept_view<kAnyRank, &Accept::integer>,
                      &run_view<&squeezed_axis>},
    runtime::Operator{"aten::squeeze_copy.dims_out", "r-w=", &accept_view<kAnyRank, &Accept::integers>,
                      &run_view<&squeezed_axes>},
    runtime::Operator{"aten::expand_copy.out", "r--w=", &accept_view<kAnyRank, &Accept::integers, &Accept::boolean>,
                      &run_view<&expanded>},
    runtime::Operator{"aten::select_copy.int_out", "r--w=", &accept_view<-1, &Accept::integer, &Accept::integer>,
                      &run_view<&selected>},
    runtime::Operator{
        "aten::slice_copy.Tensor_out", "r----w=",
        &accept_view<0, &Accept::integer, &Accept::optional_integer, &Accept::optional_integer, &Accept::integer>,
        &run_view<&sliced>},
    runtime::Operator{"aten::view_copy.out", "r-w=", &accept_view<kAnyRank, &Accept::integers>, &run_view_copy},
    runtime::Operator{"aten::repeat.out", "r-w=", &accept_view<kAnyRank, &Accept::integers>, &run_repeat},
};

}  // namespace

std::span<const runtime::Operator> shape_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
