#include "ops/portable/arguments.h"
#include "ops/portable/convert.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/walk.h"
#include "ops/portable/wrapping.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::ops::portable {
namespace {

using Axes = std::array<bool, kMaxRank>;

// A tensor split into the axes that remain and those that are reduced.
struct Reduction {
  View kept{};     // reduced axes have size 1
  View reduced{};  // kept axes have size 1
  Shape sizes{};   // of the result
  Axes axes{};
  bool keepdim = false;

  // The output with an axis of size 1 for each reduced one, whatever keepdim says.
  [[nodiscard]] View result_of(const TensorArg& out) const noexcept {
    View view = view_of(out);
    if (keepdim) return view;
    for (std::size_t axis = 0; axis < kept.rank(); ++axis) {
      if (axes[axis]) view.insert_axis(axis);
    }
    return view;
  }
};

Reduction split(const View& self, const Axes& axes, bool keepdim) noexcept {
  Reduction reduction{self, self, self.sizes, axes, keepdim};
  // Elements that are not there are not stepped over: the tensor may have no memory.
  if (self.numel() == 0) reduction.kept.strides.fill(0);
  for (std::size_t axis = self.rank(); axis-- > 0;) {
    (axes[axis] ? reduction.kept : reduction.reduced).sizes[axis] = 1;
    if (!axes[axis]) continue;
    if (keepdim) {
      reduction.sizes[axis] = 1;
    } else {
      reduction.sizes.erase(axis);
    }
  }
  return reduction;
}

// None and [] reduce every axis.
Result<Axes> axes_at(Arguments arguments, std::size_t index, std::size_t rank) {
  Axes axes{};
  Shape dims;
  if (arguments[index]->kind != Argument::Kind::None) {
    TANDEM_TRY(dims, integers_at(arguments, index));
  }
  for (const std::int64_t dim : dims.span()) {
    TANDEM_TRY(const std::size_t axis, wrap_axis(dim, rank));
    if (std::exchange(axes[axis], true)) {
      return Error{ErrorCode::InvalidArgument, "list names an axis twice"}
          .with_expected("every axis at most once", text_of(dims.span()))
          .with_argument(static_cast<int>(index));
    }
  }
  if (dims.rank() == 0) axes.fill(true);
  return axes;
}

// Calls `take(elements, count)` with the elements of a row as dense Ts.
template <class T, class Take>
void each_dense(ConvertRow convert, bool same_dtype, const std::byte* at, std::int64_t step, std::int64_t count,
                Take take) {
  constexpr std::int64_t kChunk = 512;
  if (same_dtype && step == static_cast<std::int64_t>(sizeof(T))) return take(reinterpret_cast<const T*>(at), count);
  alignas(64) std::array<T, kChunk> buffer;
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const std::int64_t now = std::min(kChunk, count - done);
    convert(at + done * step, step, reinterpret_cast<std::byte*>(buffer.data()), sizeof(T), now);
    take(buffer.data(), now);
  }
}

// Sums in the output's dtype, as PyTorch does: floats in double, rounded once; integers wrap.
template <class T, bool kMean>
void sum(const View& out, const Reduction& reduction) {
  constexpr bool kFloat = std::is_floating_point_v<Math<T>>;
  using Total = std::conditional_t<kFloat, double, std::int64_t>;
  const ScalarType from = reduction.kept.dtype;
  const ConvertRow convert_row = row_converter(from, out.dtype);
  const std::array<const View*, 1> inner_views{&reduction.reduced};
  const Walk inner{inner_views, Walk::Order::Any};
  const auto count = static_cast<double>(reduction.reduced.numel());
  const std::array<const View*, 2> outer_views{&out, &reduction.kept};
  Walk{outer_views, Walk::Order::Any}.each({out.data, reduction.kept.data}, [&](const Pointers& at) {
    Total total{};
    inner.each_row({at[1]}, [&](const Pointers& row, const Steps& step, std::int64_t n) {
      each_dense<T>(convert_row, from == out.dtype, row[0], step[0], n, [&](const T* elements, std::int64_t m) {
        for (std::int64_t i = 0; i < m; ++i) total = wrapping_add(total, static_cast<Total>(load(elements[i])));
      });
    });
    if constexpr (kMean) total /= count;
    *reinterpret_cast<T*>(at[0]) = convert<T>(total);
  });
}

// The dtype argument, when there is one, must be what the program plans for the output.
void accept_dtype(Accept& accept, std::size_t index, std::size_t out) {
  accept.optional_integer(index);
  if (!accept.ok() || accept.at(index).stored == nullptr || accept.at(index).kind == Argument::Kind::None) return;
  const std::int64_t wanted = accept.at(index).stored->integer;
  if (wanted == static_cast<std::int64_t>(accept.at(out).dtype)) return;
  accept.fail(index, ErrorCode::InvalidType, "dtype differs from that of the output",
              std::to_string(static_cast<int>(accept.at(out).dtype)), std::to_string(wanted));
}

/// Wire: self, dim, keepdim, dtype, out, out.
Status accept_sum(Specs specs) {
  Accept accept{specs};
  accept.count(6).tensor(0, kReal).optional_integers(1).boolean(2).output(4, kReal);
  accept_dtype(accept, 3, 4);
  return accept.done();
}
Status accept_mean(Specs specs) {
  Accept accept{specs};
  accept.count(6).tensor(0, kReal).optional_integers(1).boolean(2).output(4, kFloats);
  accept_dtype(accept, 3, 4);
  if (accept.ok() && accept.at(3).kind == Argument::Kind::None) accept.tensor(0, kFloats);
  return accept.done();
}

template <DtypeSet kTypes, bool kMean>
Status run_sum(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const Axes axes, axes_at(arguments, 1, self.rank()));
  TANDEM_TRY(const bool keepdim, boolean_at(arguments, 2));
  TensorArg& out = arguments[4]->tensor;
  const Reduction reduction = split(self, axes, keepdim);
  TANDEM_CHECK_OK(runtime::resize(out, reduction.sizes.span()));
  const auto apply = for_dtype<kTypes>(out.dtype, []<class T>() { return &sum<T, kMean>; });
  if (apply == nullptr || row_converter(self.dtype, out.dtype) == nullptr) {
    return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  }
  apply(reduction.result_of(out), reduction);
  return {};
}

// Which of two elements to take; a NaN beats every number, the first of equals stays.
struct Larger {
  template <class M>
  static bool beats(M challenger, M holder) noexcept {
    return challenger > holder || (challenger != challenger && holder == holder);
  }
};
struct Smaller {
  template <class M>
  static bool beats(M challenger, M holder) noexcept {
    return challenger < holder || (challenger != challenger && holder == holder);
  }
};

// Writes the extreme elements to `values` and their positions, counted in row-major order, to `places`; either may be
// absent. Precondition: something is reduced.
template <class T, class Order>
void extreme(const View* values, const View* places, const Reduction& reduction) {
  const std::array<const View*, 1> inner_views{&reduction.reduced};
  const Walk inner{inner_views, Walk::Order::Logical};
  const View& any = values != nullptr ? *values : *places;
  const std::array<const View*, 3> outer_views{&any, places != nullptr ? places : &any, &reduction.kept};
  const Pointers start{outer_views[0]->data, outer_views[1]->data, reduction.kept.data};
  Walk{outer_views, Walk::Order::Any}.each(start, [&](const Pointers& at) {
    Math<T> best = load(*reinterpret_cast<const T*>(at[2]));
    std::int64_t best_place = 0;
    std::int64_t place = 0;
    inner.each_row({at[2]}, [&](const Pointers& row, const Steps& step, std::int64_t count) {
      const std::byte* element = row[0];
      for (std::int64_t i = 0; i < count; ++i, ++place, element += step[0]) {
        const Math<T> value = load(*reinterpret_cast<const T*>(element));
        if (!Order::beats(value, best)) continue;
        best = value;
        best_place = place;
      }
    });
    if (values != nullptr) *reinterpret_cast<T*>(at[0]) = store<T>(best);
    if (places != nullptr) *reinterpret_cast<std::int64_t*>(at[1]) = best_place;
  });
}

template <DtypeSet kTypes, class Order>
Status find_extremes(const Reduction& reduction, TensorArg* values, TensorArg* places) {
  if (values != nullptr) TANDEM_CHECK_OK(runtime::resize(*values, reduction.sizes.span()));
  if (places != nullptr) TANDEM_CHECK_OK(runtime::resize(*places, reduction.sizes.span()));
  if (reduction.reduced.numel() == 0) {
    // Without results there is nothing to find either.
    if (reduction.kept.numel() == 0) return {};
    return Error{ErrorCode::InvalidArgument, "an axis without elements has no extreme"}
        .with_expected("a size above 0", text_of(reduction.reduced.sizes.span()))
        .with_argument(0);
  }
  const auto apply = for_dtype<kTypes>(reduction.kept.dtype, []<class T>() { return &extreme<T, Order>; });
  if (apply == nullptr) return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  View value_view;
  View place_view;
  if (values != nullptr) value_view = reduction.result_of(*values);
  if (places != nullptr) place_view = reduction.result_of(*places);
  apply(values != nullptr ? &value_view : nullptr, places != nullptr ? &place_view : nullptr, reduction);
  return {};
}

/// Wire: self, dim, keepdim, out, out.
Status accept_amax(Specs specs) {
  return Accept{specs}.count(5).tensor(0, kReal).integers(1).boolean(2).output(3, kReal).same_dtype(3, 0).done();
}
template <class Order>
Status run_amax(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const Axes axes, axes_at(arguments, 1, self.rank()));
  TANDEM_TRY(const bool keepdim, boolean_at(arguments, 2));
  return find_extremes<kReal, Order>(split(self, axes, keepdim), &arguments[3]->tensor, nullptr);
}

/// Wire: self, dim, keepdim, out, out.
Status accept_argmax(Specs specs) {
  return Accept{specs}.count(5).tensor(0, kNumbers).optional_integer(1).boolean(2).output(3, kLong).done();
}
template <class Order>
Status run_argmax(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::optional<std::int64_t> dim, optional_integer_at(arguments, 1));
  TANDEM_TRY(const bool keepdim, boolean_at(arguments, 2));
  Axes axes{};
  if (dim) {
    TANDEM_TRY(const std::size_t axis, wrap_axis(*dim, self.rank()));
    axes[axis] = true;
  } else {
    axes.fill(true);
  }
  return find_extremes<kNumbers, Order>(split(self, axes, keepdim), nullptr, &arguments[3]->tensor);
}

/// Wire: self, dim, keepdim, values, indices, [values, indices].
Status accept_max_dim(Specs specs) {
  return Accept{specs}
      .count(6)
      .tensor(0, kReal)
      .integer(1)
      .boolean(2)
      .tensor(3, kReal)
      .tensor(4, kLong)
      .tensors(5, 0)
      .same_dtype(3, 0)
      .done();
}
template <class Order>
Status run_max_dim(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  TANDEM_TRY(const bool keepdim, boolean_at(arguments, 2));
  Axes axes{};
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  axes[axis] = true;
  return find_extremes<kReal, Order>(split(self, axes, keepdim), &arguments[3]->tensor, &arguments[4]->tensor);
}

constexpr std::array kTable{
    runtime::Operator{"aten::sum.IntList_out", "r---w=", &accept_sum, &run_sum<kReal, false>},
    runtime::Operator{"aten::mean.out", "r---w=", &accept_mean, &run_sum<kFloats, true>},
    runtime::Operator{"aten::amax.out", "r--w=", &accept_amax, &run_amax<Larger>},
    runtime::Operator{"aten::amin.out", "r--w=", &accept_amax, &run_amax<Smaller>},
    runtime::Operator{"aten::argmax.out", "r--w=", &accept_argmax, &run_argmax<Larger>},
    runtime::Operator{"aten::argmin.out", "r--w=", &accept_argmax, &run_argmax<Smaller>},
    runtime::Operator{"aten::max.dim_max", "r--ww=", &accept_max_dim, &run_max_dim<Larger>},
    runtime::Operator{"aten::min.dim_min", "r--ww=", &accept_max_dim, &run_max_dim<Smaller>},
};

}  // namespace

std::span<const runtime::Operator> reduce_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
