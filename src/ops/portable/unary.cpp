#include "ops/portable/pointwise.h"
#include "ops/portable/tables.h"
#include "ops/portable/wrapping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace tandem::ops::portable {
namespace {

struct Negate {
  static constexpr DtypeSet kTypes = kNumbers;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a) const noexcept {
    return wrapping_neg(a);
  }
};

struct Absolute {
  static constexpr DtypeSet kTypes = kNumbers;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a) const noexcept {
    if constexpr (std::is_floating_point_v<M>) {
      return std::fabs(a);
    } else {
      return a < M{} ? wrapping_neg(a) : a;
    }
  }
};

struct Relu {
  static constexpr DtypeSet kTypes = kNumbers;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a) const noexcept {
    return a < M{} ? M{} : a;  // NaN stays
  }
};

// Functions of floats; integers and bools are computed in float32.
#define TANDEM_FLOAT_FUNCTION(Name, expression)    \
  struct Name {                                    \
    static constexpr DtypeSet kTypes = kFloats;    \
    static constexpr bool kIntegersAsFloat = true; \
    static constexpr bool kPredicate = false;      \
    template <class M>                             \
    M operator()(M a) const noexcept {             \
      return expression;                           \
    }                                              \
  }
TANDEM_FLOAT_FUNCTION(Sqrt, std::sqrt(a));
TANDEM_FLOAT_FUNCTION(Rsqrt, M{1} / std::sqrt(a));
TANDEM_FLOAT_FUNCTION(Reciprocal, M{1} / a);
TANDEM_FLOAT_FUNCTION(Exp, std::exp(a));
TANDEM_FLOAT_FUNCTION(Log, std::log(a));
TANDEM_FLOAT_FUNCTION(Sin, std::sin(a));
TANDEM_FLOAT_FUNCTION(Cos, std::cos(a));
TANDEM_FLOAT_FUNCTION(Tanh, std::tanh(a));
TANDEM_FLOAT_FUNCTION(Sigmoid, M{1} / (M{1} + std::exp(-a)));
#undef TANDEM_FLOAT_FUNCTION

struct Gelu {
  static constexpr DtypeSet kTypes = kFloats;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a) const noexcept {
    return M{0.5} * a * (M{1} + std::erf(a * (std::numbers::sqrt2_v<M> / M{2})));
  }
};

struct GeluTanh {
  static constexpr DtypeSet kTypes = kFloats;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a) const noexcept {
    constexpr M kBeta = std::numbers::sqrt2_v<M> * std::numbers::inv_sqrtpi_v<M>;  // sqrt(2 / pi)
    constexpr auto kKappa = static_cast<M>(0.044715);
    return M{0.5} * a * (M{1} + std::tanh(kBeta * (a + kKappa * (a * a * a))));
  }
};

/// Wire: self, approximate, out, out.
Status accept_gelu(Specs specs) {
  Accept accept{specs};
  accept.count(4).tensor(0, kFloats).text(1).output(2, kFloats);
  if (!accept.ok()) return accept.done();
  const Argument* approximate = accept.at(1).stored;
  if (approximate != nullptr && approximate->text != "none" && approximate->text != "tanh") {
    accept.fail(1, ErrorCode::InvalidArgument, "unknown approximation", "none or tanh", std::string{approximate->text});
  }
  return accept.rank(2, accept.at(0).sizes.size()).done();
}

Status run_gelu(Arguments arguments) {
  const auto apply = arguments[1]->text == "tanh" ? &apply_unary<GeluTanh> : &apply_unary<Gelu>;
  return apply(arguments[0]->tensor, arguments[2]->tensor);
}

template <class M>
struct Bounds {
  M low{}, high{};
};

// A NaN wins, in the element as in a bound; where the bounds cross, the upper one does.
template <class T>
void clamp_kernel(const void* context, const std::byte* const* operands, std::byte* result, std::int64_t count) {
  const auto [low, high] = *static_cast<const Bounds<Math<T>>*>(context);
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  auto* out = reinterpret_cast<T*>(result);
  for (std::int64_t i = 0; i < count; ++i) {
    const Math<T> raised = load(a[i]) < low || low != low ? low : load(a[i]);
    out[i] = store<T>(raised > high || high != high ? high : raised);
  }
}

// A bound beyond what M holds bounds nothing on that side, and everything on the other: it is moved to the end.
template <class M>
M bound(const Argument& number) noexcept {
  const std::int64_t integer = number.kind == Argument::Kind::Bool ? std::int64_t{number.flag} : number.integer;
  if constexpr (std::is_floating_point_v<M>) {
    return number.kind == Argument::Kind::Double ? static_cast<M>(number.number) : static_cast<M>(integer);
  } else {  // never a double: that makes the result a float
    constexpr std::int64_t kLow = std::numeric_limits<M>::lowest();
    constexpr std::int64_t kHigh = std::numeric_limits<M>::max();
    return static_cast<M>(std::clamp(integer, kLow, kHigh));
  }
}

template <class T>
Status clamp(const TensorArg& self, const Argument* low, const Argument* high, ScalarType dtype, TensorArg& out) {
  using M = Math<T>;
  using Limits = std::numeric_limits<M>;
  Bounds<M> bounds{Limits::has_infinity ? -Limits::infinity() : Limits::lowest(),
                   Limits::has_infinity ? Limits::infinity() : Limits::max()};
  if (low != nullptr) bounds.low = bound<M>(*low);
  if (high != nullptr) bounds.high = bound<M>(*high);
  const std::array<Operand, 1> operands{Operand{view_of(self), dtype}};
  return compute(view_of(out), operands, {&clamp_kernel<T>, &bounds, dtype});
}

/// Wire: self, min, max, out, out.
Status accept_clamp(Specs specs) {
  Accept accept{specs};
  accept.count(5).tensor(0, kReal).optional_number(1).optional_number(2).output(3, kReal);
  if (!accept.ok()) return accept.done();
  ResultType type;
  for (const std::size_t i : {0U, 1U, 2U}) {
    if (accept.at(i).kind != Argument::Kind::None) add_operand(type, accept.at(i));
  }
  if (accept.at(1).kind == Argument::Kind::None && accept.at(2).kind == Argument::Kind::None) {
    accept.fail(1, ErrorCode::InvalidArgument, "clamp without bounds", "min or max", "none");
  } else if (!contains(kNumbers, type.dtype())) {
    accept.fail(0, ErrorCode::InvalidType, "operator does not compute in this element type", names_of(kNumbers),
                "bool");
  }
  return accept.castable(type.dtype(), 3).rank(3, accept.at(0).sizes.size()).done();
}

Status run_clamp(Arguments arguments) {
  const TensorArg& self = arguments[0]->tensor;
  TensorArg& out = arguments[3]->tensor;
  ResultType type;
  add_operand(type, *arguments[0]);
  std::array<const Argument*, 2> bounds{};
  for (const std::size_t i : {0U, 1U}) {
    if (arguments[i + 1]->kind == Argument::Kind::None) continue;
    TANDEM_TRY(bounds[i], number_at(arguments, i + 1));
    add_operand(type, *bounds[i]);
  }
  TANDEM_CHECK_OK(runtime::resize(out, self.size_span()));
  const auto apply = for_dtype<kNumbers>(type.dtype(), []<class T>() { return &clamp<T>; });
  if (apply == nullptr) return Error{ErrorCode::InvalidType, "no kernel for these element types"};
  return apply(self, bounds[0], bounds[1], type.dtype(), out);
}

template <class Function>
constexpr runtime::Operator unary(std::string_view name) {
  return {name, "rw=", &accept_unary<Function>, &run_unary<Function>};
}

constexpr std::array kTable{
    unary<Negate>("aten::neg.out"),
    unary<Absolute>("aten::abs.out"),
    unary<Relu>("aten::relu.out"),
    unary<Sqrt>("aten::sqrt.out"),
    unary<Rsqrt>("aten::rsqrt.out"),
    unary<Reciprocal>("aten::reciprocal.out"),
    unary<Exp>("aten::exp.out"),
    unary<Log>("aten::log.out"),
    unary<Sin>("aten::sin.out"),
    unary<Cos>("aten::cos.out"),
    unary<Tanh>("aten::tanh.out"),
    unary<Sigmoid>("aten::sigmoid.out"),
    runtime::Operator{"aten::gelu.out", "r-w=", &accept_gelu, &run_gelu},
    runtime::Operator{"aten::clamp.out", "r--w=", &accept_clamp, &run_clamp},
};

}  // namespace

std::span<const runtime::Operator> unary_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
