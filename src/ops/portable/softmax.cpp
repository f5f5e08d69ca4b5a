#include "ops/portable/arguments.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tandem::ops::portable {
namespace {

// One line of softmax; steps in elements. The sum is kept in double, so that long lines lose nothing.
template <class T, bool kLog>
void softmax_line(const T* in, std::int64_t in_step, T* out, std::int64_t out_step, std::int64_t count) noexcept {
  using M = Math<T>;
  M top = -std::numeric_limits<M>::infinity();
  for (std::int64_t i = 0; i < count; ++i) top = std::max(top, load(in[i * in_step]));
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(load(in[i * in_step]) - top);
  const auto divisor = static_cast<M>(sum);
  const auto log_sum = static_cast<M>(std::log(sum));
  for (std::int64_t i = 0; i < count; ++i) {
    const M shifted = load(in[i * in_step]) - top;
    out[i * out_step] = store<T>(kLog ? shifted - log_sum : std::exp(shifted) / divisor);
  }
}

template <class T, bool kLog>
void softmax(const View& out, const View& self, std::size_t axis) {
  View lines = self;
  View results = out;
  lines.sizes[axis] = 1;
  results.sizes[axis] = 1;
  const std::array<const View*, 2> views{&results, &lines};
  Walk{views, Walk::Order::Any}.each({out.data, self.data}, [&](const Pointers& at) {
    softmax_line<T, kLog>(reinterpret_cast<const T*>(at[1]), self.strides[axis], reinterpret_cast<T*>(at[0]),
                          out.strides[axis], self.sizes[axis]);
  });
}

/// Wire: self, dim, half_to_float, out, out.
Status accept_softmax(Specs specs) {
  Accept accept{specs};
  accept.count(5).tensor(0, kFloats).integer(1).boolean(2).output(3, kFloats).same_dtype(3, 0);
  if (!accept.ok()) return accept.done();
  if (const Argument* half_to_float = accept.at(2).stored; half_to_float != nullptr && half_to_float->flag) {
    accept.fail(2, ErrorCode::NotSupported, "half_to_float is for GPUs", "false", "true");
  }
  return accept.rank(3, accept.at(0).sizes.size()).done();
}

template <bool kLog>
Status run_softmax(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  TensorArg& out = arguments[3]->tensor;
  TANDEM_CHECK_OK(runtime::resize(out, self.sizes.span()));
  View result = view_of(out);
  if (self.rank() == 0) {
    self.insert_axis(0);
    result.insert_axis(0);
  }
  if (self.numel() == 0) return {};
  const auto apply = for_dtype<kFloats>(self.dtype, []<class T>() { return &softmax<T, kLog>; });
  if (apply == nullptr) return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  apply(result, self, axis);
  return {};
}

constexpr std::array kTable{
    runtime::Operator{"aten::_softmax.out", "r--w=", &accept_softmax, &run_softmax<false>},
    runtime::Operator{"aten::_log_softmax.out", "r--w=", &accept_softmax, &run_softmax<true>},
};

}  // namespace

std::span<const runtime::Operator> softmax_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
