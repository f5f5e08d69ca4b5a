#include "ops/portable/arguments.h"
#include "ops/portable/set_number.h"
#include "ops/portable/tables.h"
#include "ops/portable/wrapping.h"
#include "runtime/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

/// Operators on the program's own numbers, which lowered loops and dynamic shapes need. Their last argument is the
/// result; its kind is whatever they compute.
namespace tandem::ops::portable {
namespace {

using Kind = Argument::Kind;

Error wrong_kind(std::size_t index, const char* expected, Kind found) {
  return Error{ErrorCode::InvalidType, "argument has another kind"}
      .with_expected(expected, std::string{name_of(found)})
      .with_argument(static_cast<int>(index));
}

Error zero_divisor() {
  return Error{ErrorCode::InvalidArgument, "integer division by zero"}
      .with_expected("a divisor other than 0", "0")
      .with_argument(1);
}

bool is_integer_or_double(Kind kind) noexcept { return kind == Kind::Int || kind == Kind::Double; }

double as_double(const Argument& number) noexcept {
  return number.kind == Kind::Int ? static_cast<double>(number.integer) : number.number;
}

// The first `count` arguments are integers or doubles.
Status check_numbers(Arguments arguments, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_integer_or_double(arguments[i]->kind)) return wrong_kind(i, "int or double", arguments[i]->kind);
  }
  return {};
}

/// Wire: kOperands numbers, result. Numbers may be computed, so `run` looks at their kinds.
template <std::size_t kOperands>
Status accept_numbers(Specs specs) {
  Accept accept{specs};
  accept.count(kOperands + 1);
  for (std::size_t i = 0; i <= kOperands; ++i) accept.number(i);
  return accept.done();
}

// Two numbers; two integers give an integer, anything else a double.
template <class Function>
Status run_arithmetic(Arguments arguments) {
  TANDEM_CHECK_OK(check_numbers(arguments, 2));
  const Argument& a = *arguments[0];
  const Argument& b = *arguments[1];
  if (a.kind == Kind::Int && b.kind == Kind::Int) {
    set_number(*arguments[2], Function{}(a.integer, b.integer));
  } else {
    set_number(*arguments[2], Function{}(as_double(a), as_double(b)));
  }
  return {};
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return wrapping_add(a, b);
  }
};
struct Difference {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return wrapping_sub(a, b);
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return wrapping_mul(a, b);
  }
};

// Quotient and remainder of C, without its two undefined cases. Precondition: b != 0.
std::int64_t truncated_quotient(std::int64_t a, std::int64_t b) noexcept { return b == -1 ? wrapping_neg(a) : a / b; }
std::int64_t truncated_remainder(std::int64_t a, std::int64_t b) noexcept { return b == -1 ? 0 : a % b; }

std::int64_t floored_quotient(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t remainder = truncated_remainder(a, b);
  return truncated_quotient(a, b) - (remainder != 0 && (remainder < 0) != (b < 0) ? 1 : 0);
}

// Python's a // b; a zero divisor gives an infinity of the dividend's sign.
double floored_quotient(double a, double b) noexcept {
  if (b == 0) return std::copysign(std::numeric_limits<double>::infinity(), a);
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

Status run_floordiv(Arguments arguments) {
  TANDEM_CHECK_OK(check_numbers(arguments, 2));
  const Argument& a = *arguments[0];
  const Argument& b = *arguments[1];
  if (a.kind == Kind::Int && b.kind == Kind::Int) {
    if (b.integer == 0) return zero_divisor();
    set_number(*arguments[2], floored_quotient(a.integer, b.integer));
  } else {
    set_number(*arguments[2], floored_quotient(as_double(a), as_double(b)));
  }
  return {};
}

Status run_truediv(Arguments arguments) {
  TANDEM_CHECK_OK(check_numbers(arguments, 2));
  set_number(*arguments[2], as_double(*arguments[0]) / as_double(*arguments[1]));
  return {};
}

template <std::int64_t (*kFunction)(std::int64_t, std::int64_t) noexcept, bool kDivides>
Status run_integers(Arguments arguments) {
  TANDEM_TRY(const std::int64_t a, integer_at(arguments, 0));
  TANDEM_TRY(const std::int64_t b, integer_at(arguments, 1));
  if (kDivides && b == 0) return zero_divisor();
  set_number(*arguments[2], kFunction(a, b));
  return {};
}

std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return std::max(a, b); }
std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return std::min(a, b); }

// Integers as such, mixed numbers as doubles, bools with each other.
template <class Compare>
Status run_comparison(Arguments arguments) {
  const Argument& a = *arguments[0];
  const Argument& b = *arguments[1];
  if (a.kind == Kind::Bool && b.kind == Kind::Bool) {
    set_number(*arguments[2], Compare{}(a.flag, b.flag));
    return {};
  }
  TANDEM_CHECK_OK(check_numbers(arguments, 2));
  const bool integers = a.kind == Kind::Int && b.kind == Kind::Int;
  set_number(*arguments[2], integers ? Compare{}(a.integer, b.integer) : Compare{}(as_double(a), as_double(b)));
  return {};
}

Status run_neg(Arguments arguments) {
  TANDEM_CHECK_OK(check_numbers(arguments, 1));
  const Argument& a = *arguments[0];
  if (a.kind == Kind::Int) {
    set_number(*arguments[1], wrapping_neg(a.integer));
  } else {
    set_number(*arguments[1], -a.number);
  }
  return {};
}

// A double that has been made whole, as an integer.
Status set_whole(Argument& result, double whole) {
  if (!(whole >= -0x1p63 && whole < 0x1p63)) {
    return Error{ErrorCode::InvalidArgument, "number is not an int64"}
        .with_expected("a number within 64 bits", std::to_string(whole))
        .with_argument(0);
  }
  set_number(result, static_cast<std::int64_t>(whole));
  return {};
}

template <double (*kRound)(double)>
Status run_rounding(Arguments arguments) {
  const Argument& a = *arguments[0];
  if (a.kind != Kind::Double) return wrong_kind(0, "double", a.kind);
  return set_whole(*arguments[1], kRound(a.number));
}

double up(double value) { return std::ceil(value); }
double towards_zero(double value) { return std::trunc(value); }
double half_to_even(double value) {
  // Not nearbyint: that follows the thread's rounding mode.
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

Status run_sym_float(Arguments arguments) {
  TANDEM_TRY(const Argument* a, number_at(arguments, 0));
  set_number(*arguments[1], a->kind == Kind::Bool ? (a->flag ? 1.0 : 0.0) : as_double(*a));
  return {};
}

Status run_sym_int(Arguments arguments) {
  TANDEM_TRY(const Argument* a, number_at(arguments, 0));
  if (a->kind == Kind::Double) return set_whole(*arguments[1], std::trunc(a->number));
  set_number(*arguments[1], a->kind == Kind::Bool ? std::int64_t{a->flag} : a->integer);
  return {};
}

Status run_sym_not(Arguments arguments) {
  TANDEM_TRY(const bool a, boolean_at(arguments, 0));
  set_number(*arguments[1], !a);
  return {};
}

Status run_sym_ite(Arguments arguments) {
  TANDEM_TRY(const bool condition, boolean_at(arguments, 0));
  const std::size_t chosen = condition ? 1 : 2;
  TANDEM_TRY(const Argument* number, number_at(arguments, chosen));
  Argument& result = *arguments[3];
  if (number->kind == Kind::Int) {
    set_number(result, number->integer);
  } else if (number->kind == Kind::Double) {
    set_number(result, number->number);
  } else {
    set_number(result, number->flag);
  }
  return {};
}

template <class Function>
constexpr runtime::Operator arithmetic(std::string_view name) {
  return {name, "--o", &accept_numbers<2>, &run_arithmetic<Function>};
}
template <class Compare>
constexpr runtime::Operator comparison(std::string_view name) {
  return {name, "--o", &accept_numbers<2>, &run_comparison<Compare>};
}
template <std::int64_t (*kFunction)(std::int64_t, std::int64_t) noexcept, bool kDivides>
constexpr runtime::Operator integers(std::string_view name) {
  return {name, "--o", &accept_numbers<2>, &run_integers<kFunction, kDivides>};
}
constexpr runtime::Operator one_number(std::string_view name, Status (*run)(Arguments)) {
  return {name, "-o", &accept_numbers<1>, run};
}

constexpr std::array kTable{
    arithmetic<Sum>("executorch_prim::add.Scalar"),
    arithmetic<Difference>("executorch_prim::sub.Scalar"),
    arithmetic<Product>("executorch_prim::mul.Scalar"),
    runtime::Operator{"executorch_prim::floordiv.Scalar", "--o", &accept_numbers<2>, &run_floordiv},
    integers<&truncated_quotient, true>("executorch_prim::floordiv.int"),
    runtime::Operator{"executorch_prim::truediv.Scalar", "--o", &accept_numbers<2>, &run_truediv},
    integers<&truncated_remainder, true>("executorch_prim::mod.int"),
    integers<&truncated_remainder, true>("executorch_prim::mod.Scalar"),
    comparison<std::equal_to<>>("executorch_prim::eq.Scalar"),
    comparison<std::greater<>>("executorch_prim::gt.Scalar"),
    comparison<std::less<>>("executorch_prim::lt.Scalar"),
    comparison<std::greater_equal<>>("executorch_prim::ge.Scalar"),
    comparison<std::less_equal<>>("executorch_prim::le.Scalar"),
    one_number("executorch_prim::neg.Scalar", &run_neg),
    one_number("executorch_prim::sym_float.Scalar", &run_sym_float),
    one_number("executorch_prim::sym_int.Scalar", &run_sym_int),
    integers<&larger, false>("executorch_prim::sym_max.Scalar"),
    integers<&smaller, false>("executorch_prim::sym_min.Scalar"),
    one_number("executorch_prim::sym_not.Scalar", &run_sym_not),
    runtime::Operator{"executorch_prim::sym_ite.Scalar", "---o", &accept_numbers<3>, &run_sym_ite},
    one_number("executorch_prim::ceil.Scalar", &run_rounding<&up>),
    one_number("executorch_prim::round.Scalar", &run_rounding<&half_to_even>),
    one_number("executorch_prim::trunc.Scalar", &run_rounding<&towards_zero>),
};

}  // namespace

std::span<const runtime::Operator> prim_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
