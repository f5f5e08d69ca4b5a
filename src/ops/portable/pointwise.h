#pragma once

#include "ops/portable/arguments.h"
#include "ops/portable/elementwise.h"
#include "runtime/op.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

/// From a function on numbers to an operator on tensors. A function is a type with
///   kTypes            the dtypes that it computes in,
///   kIntegersAsFloat  whether integers and bools are computed in float32,
///   kPredicate        whether it yields bools,
///   kScalarInFloat    optional: beside a 16-bit float, a second operand of one element is not rounded to 16 bits,
///   operator()        one or two Math<T> in, one Math<T> or a bool out.
namespace tandem::ops::portable {

/// What a function yields for elements of type T: Bool for predicates, else T.
template <class Function, class T, class... Numbers>
using Yields = std::conditional_t<std::is_same_v<std::invoke_result_t<Function, Numbers...>, bool>, Bool, T>;

template <class Function>
[[nodiscard]] ScalarType computed_in(ScalarType promoted) noexcept {
  if (Function::kIntegersAsFloat && !contains(kFloats, promoted)) return ScalarType::Float;
  return promoted;
}

/// The dtype that the function yields when it computes in `dtype`.
template <class Function>
[[nodiscard]] constexpr ScalarType yields(ScalarType dtype) noexcept {
  return Function::kPredicate ? ScalarType::Bool : dtype;
}

/// Refuses a dtype that the function does not compute in, and an output that cannot take what it yields.
template <class Function>
void accept_types(Accept& accept, ScalarType dtype, std::size_t out) {
  if (!accept.ok()) return;
  if (!contains(Function::kTypes, dtype)) {
    accept.fail(0, ErrorCode::InvalidType, "operator does not compute in this element type", names_of(Function::kTypes),
                std::string{name_of(dtype)});
  }
  accept.castable(yields<Function>(dtype), out);
}

/// Wire: self, out, out.
template <class Function>
Status accept_unary(Specs specs) {
  Accept accept{specs};
  accept.count(3).tensor(0, kReal).output(1, kReal);
  if (!accept.ok()) return accept.done();
  accept_types<Function>(accept, computed_in<Function>(accept.at(0).dtype), 1);
  return accept.rank(1, accept.at(0).sizes.size()).done();
}

/// Resizes the output to the input's sizes and applies the function.
template <class Function>
Status apply_unary(const TensorArg& self, TensorArg& out) {
  TANDEM_CHECK_OK(runtime::resize(out, self.size_span()));
  const ScalarType dtype = computed_in<Function>(self.dtype);
  const Kernel kernel = for_dtype<Function::kTypes>(
      dtype, []<class T>() -> Kernel { return &unary_kernel<T, Yields<Function, T, Math<T>>, Function>; });
  const std::array<Operand, 1> operands{Operand{view_of(self), dtype}};
  return compute(view_of(out), operands, {kernel, nullptr, yields<Function>(dtype)});
}

template <class Function>
Status run_unary(Arguments arguments) {
  return apply_unary<Function>(arguments[0]->tensor, arguments[1]->tensor);
}

/// What the second operand of an overload is.
enum class Second : std::uint8_t { Tensor, Number };

/// Adds what `specs[index]` or `arguments[index]` contributes to the result's dtype.
void add_operand(ResultType& type, const ArgumentSpec& spec) noexcept;
void add_operand(ResultType& type, const Argument& argument) noexcept;

/// A tensor or a number as a view. Errors: InvalidType, it is neither.
[[nodiscard]] Result<View> operand_view(Arguments arguments, std::size_t index);

/// Checks the two operands at 0 and 1 and the output: kinds, dtypes, rank. Precondition of at(): ok() after it.
template <class Function>
void accept_binary_operands(Accept& accept, Second second, std::size_t out) {
  accept.tensor(0, kReal);
  if (second == Second::Tensor) {
    accept.tensor(1, kReal);
  } else {
    accept.number(1);
  }
  accept.output(out, kReal);
  if (!accept.ok()) return;
  ResultType type;
  add_operand(type, accept.at(0));
  add_operand(type, accept.at(1));
  accept_types<Function>(accept, computed_in<Function>(type.dtype()), out);
  accept.rank(out, std::max(accept.at(0).sizes.size(), second == Second::Tensor ? accept.at(1).sizes.size() : 0));
}

/// The two operands of a running call, and the output in its new size.
struct BinaryCall {
  std::array<Operand, 2> operands{};
  ScalarType dtype = ScalarType::Float;  ///< What the operands promote to.
};
/// Errors: InvalidType; InvalidArgument, the shapes do not broadcast or the output cannot take them.
[[nodiscard]] Result<BinaryCall> begin_binary(Arguments arguments, TensorArg& out,
                                              ScalarType (*computed)(ScalarType promoted) noexcept);

/// Wire: self, other, out, out.
template <class Function, Second kSecond>
Status accept_binary(Specs specs) {
  Accept accept{specs};
  accept.count(4);
  if (accept.ok()) accept_binary_operands<Function>(accept, kSecond, 2);
  return accept.done();
}

template <class Function>
Status run_binary(Arguments arguments) {
  TensorArg& out = arguments[2]->tensor;
  TANDEM_TRY(BinaryCall call, begin_binary(arguments, out, &computed_in<Function>));
  Kernel kernel = for_dtype<Function::kTypes>(call.dtype, []<class T>() -> Kernel {
    return &binary_kernel<T, Yields<Function, T, Math<T>, Math<T>>, Function>;
  });
  if constexpr (requires { Function::kScalarInFloat; }) {
    if (contains(kShortFloats, call.dtype) && call.operands[1].view.numel() == 1) {
      call.operands[1].as = ScalarType::Float;
      kernel = for_dtype<kShortFloats>(call.dtype,
                                       []<class T>() -> Kernel { return &binary_kernel<T, T, Function, float>; });
    }
  }
  return compute(view_of(out), call.operands, {kernel, nullptr, yields<Function>(call.dtype)});
}

}  // namespace tandem::ops::portable
