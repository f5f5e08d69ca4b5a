#include "ops/portable/pointwise.h"
#include "ops/portable/tables.h"
#include "ops/portable/wrapping.h"

#include <array>
#include <cstring>

namespace tandem::ops::portable {
namespace {

struct Add {
  static constexpr DtypeSet kTypes = kReal;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return wrapping_add(a, b);
  }
};

struct Subtract {
  static constexpr DtypeSet kTypes = kNumbers;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return wrapping_sub(a, b);
  }
};

struct Multiply {
  static constexpr DtypeSet kTypes = kReal;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  static constexpr bool kScalarInFloat = true;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return wrapping_mul(a, b);
  }
};

struct Divide {
  static constexpr DtypeSet kTypes = kFloats;
  static constexpr bool kIntegersAsFloat = true;
  static constexpr bool kPredicate = false;
  static constexpr bool kScalarInFloat = true;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return a / b;
  }
};

struct Minimum {
  static constexpr DtypeSet kTypes = kReal;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return a != a || a < b ? a : b;  // a NaN on either side wins
  }
};

struct Maximum {
  static constexpr DtypeSet kTypes = kReal;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = false;
  template <class M>
  M operator()(M a, M b) const noexcept {
    return a != a || a > b ? a : b;
  }
};

// self + alpha * other and self - alpha * other. The context is alpha, a Math<T>.
template <class T, class Function>
void scaled_kernel(const void* context, const std::byte* const* operands, std::byte* result, std::int64_t count) {
  const auto alpha = *static_cast<const Math<T>*>(context);
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  const auto* b = reinterpret_cast<const T*>(operands[1]);
  auto* out = reinterpret_cast<T*>(result);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = store<T>(Function{}(load(a[i]), wrapping_mul(alpha, load(b[i]))));
  }
}

// Puts alpha as the kernel wants it at `to`; the 16-bit floats scale in float.
using PutNumber = Status (*)(const Argument& number, std::byte* to);
template <class T>
Status put_number(const Argument& number, std::byte* to) {
  TANDEM_TRY(const Math<T> value, number_as<std::conditional_t<kIsShortFloat<T>, float, T>>(number));
  std::memcpy(to, &value, sizeof value);
  return {};
}

constexpr std::size_t kAlpha = 2;

bool loses_fraction(ScalarType dtype, Argument::Kind alpha) noexcept {
  return !contains(kFloats, dtype) && alpha == Argument::Kind::Double;
}

/// Wire: self, other, alpha, out, out.
template <class Function, Second kSecond>
Status accept_scaled(Specs specs) {
  Accept accept{specs};
  accept.count(5).number(kAlpha);
  if (!accept.ok()) return accept.done();
  accept_binary_operands<Function>(accept, kSecond, 3);
  if (!accept.ok()) return accept.done();
  ResultType type;
  add_operand(type, accept.at(0));
  add_operand(type, accept.at(1));
  if (loses_fraction(type.dtype(), accept.at(kAlpha).kind)) {
    accept.fail(kAlpha, ErrorCode::InvalidType, "alpha of an integer operation", "int", "double");
  }
  return accept.done();
}

template <class Function>
Status run_scaled(Arguments arguments) {
  TensorArg& out = arguments[3]->tensor;
  TANDEM_TRY(const BinaryCall call, begin_binary(arguments, out, &computed_in<Function>));
  TANDEM_TRY(const Argument* alpha, number_at(arguments, kAlpha));
  if (loses_fraction(call.dtype, alpha->kind)) {
    return Error{ErrorCode::InvalidType, "alpha of an integer operation"}
        .with_expected("int", "double")
        .with_argument(static_cast<int>(kAlpha));
  }
  const PutNumber put = for_dtype<Function::kTypes>(call.dtype, []<class T>() -> PutNumber { return &put_number<T>; });
  const Kernel kernel =
      for_dtype<Function::kTypes>(call.dtype, []<class T>() -> Kernel { return &scaled_kernel<T, Function>; });
  alignas(sizeof(double)) std::array<std::byte, sizeof(double)> context{};
  if (put != nullptr) TANDEM_CHECK_OK(put(*alpha, context.data()));
  return compute(view_of(out), call.operands, {kernel, context.data(), call.dtype});
}

constexpr std::array kTable{
    runtime::Operator{"aten::add.out", "rr-w=", &accept_scaled<Add, Second::Tensor>, &run_scaled<Add>},
    runtime::Operator{"aten::add.Scalar_out", "r--w=", &accept_scaled<Add, Second::Number>, &run_scaled<Add>},
    runtime::Operator{"aten::sub.out", "rr-w=", &accept_scaled<Subtract, Second::Tensor>, &run_scaled<Subtract>},
    runtime::Operator{"aten::sub.Scalar_out", "r--w=", &accept_scaled<Subtract, Second::Number>, &run_scaled<Subtract>},
    runtime::Operator{"aten::mul.out", "rrw=", &accept_binary<Multiply, Second::Tensor>, &run_binary<Multiply>},
    runtime::Operator{"aten::mul.Scalar_out", "r-w=", &accept_binary<Multiply, Second::Number>, &run_binary<Multiply>},
    runtime::Operator{"aten::div.out", "rrw=", &accept_binary<Divide, Second::Tensor>, &run_binary<Divide>},
    runtime::Operator{"aten::div.Scalar_out", "r-w=", &accept_binary<Divide, Second::Number>, &run_binary<Divide>},
    runtime::Operator{"aten::minimum.out", "rrw=", &accept_binary<Minimum, Second::Tensor>, &run_binary<Minimum>},
    runtime::Operator{"aten::maximum.out", "rrw=", &accept_binary<Maximum, Second::Tensor>, &run_binary<Maximum>},
};

}  // namespace

std::span<const runtime::Operator> arithmetic_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
