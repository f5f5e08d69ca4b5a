#include "ops/portable/pointwise.h"
#include "ops/portable/tables.h"

#include <array>

namespace tandem::ops::portable {
namespace {

// NaN compares as in C++: equal to nothing, not even itself.
#define TANDEM_PREDICATE(Name, expression)          \
  struct Name {                                     \
    static constexpr DtypeSet kTypes = kReal;       \
    static constexpr bool kIntegersAsFloat = false; \
    static constexpr bool kPredicate = true;        \
    template <class M>                              \
    bool operator()(M a, M b) const noexcept {      \
      return expression;                            \
    }                                               \
  }
TANDEM_PREDICATE(Equal, a == b);
TANDEM_PREDICATE(NotEqual, a != b);
TANDEM_PREDICATE(Less, a < b);
TANDEM_PREDICATE(LessEqual, a <= b);
TANDEM_PREDICATE(Greater, a > b);
TANDEM_PREDICATE(GreaterEqual, a >= b);
TANDEM_PREDICATE(LogicalAnd, a != M{} && b != M{});
TANDEM_PREDICATE(LogicalOr, a != M{} || b != M{});
#undef TANDEM_PREDICATE

struct LogicalNot {
  static constexpr DtypeSet kTypes = kReal;
  static constexpr bool kIntegersAsFloat = false;
  static constexpr bool kPredicate = true;
  template <class M>
  bool operator()(M a) const noexcept {
    return a == M{};
  }
};

template <class T>
void where_kernel(const void* /*context*/, const std::byte* const* operands, std::byte* result, std::int64_t count) {
  const auto* condition = reinterpret_cast<const Bool*>(operands[0]);
  const auto* a = reinterpret_cast<const T*>(operands[1]);
  const auto* b = reinterpret_cast<const T*>(operands[2]);
  auto* out = reinterpret_cast<T*>(result);
  for (std::int64_t i = 0; i < count; ++i) out[i] = load(condition[i]) ? a[i] : b[i];
}

/// Wire: condition, self, other, out, out.
Status accept_where(Specs specs) {
  Accept accept{specs};
  accept.count(5).tensor(0, kBool | set_of(ScalarType::Byte)).tensor(1, kReal).tensor(2, kReal).output(3, kReal);
  if (!accept.ok()) return accept.done();
  ResultType type;
  add_operand(type, accept.at(1));
  add_operand(type, accept.at(2));
  const std::size_t rank = std::max({accept.at(0).sizes.size(), accept.at(1).sizes.size(), accept.at(2).sizes.size()});
  return accept.castable(type.dtype(), 3).rank(3, rank).done();
}

Status run_where(Arguments arguments) {
  const View condition = view_of(arguments[0]->tensor);
  const View a = view_of(arguments[1]->tensor);
  const View b = view_of(arguments[2]->tensor);
  TensorArg& out = arguments[3]->tensor;
  TANDEM_TRY(const Shape values, broadcast(a.sizes, b.sizes));
  TANDEM_TRY(const Shape sizes, broadcast(condition.sizes, values));
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  ResultType type;
  add_operand(type, *arguments[1]);
  add_operand(type, *arguments[2]);
  const ScalarType dtype = type.dtype();
  const Kernel kernel = for_dtype<kReal>(dtype, []<class T>() -> Kernel { return &where_kernel<T>; });
  const std::array<Operand, 3> operands{Operand{condition, ScalarType::Bool}, Operand{a, dtype}, Operand{b, dtype}};
  return compute(view_of(out), operands, {kernel, nullptr, dtype});
}

template <class Function>
constexpr runtime::Operator tensor_form(std::string_view name) {
  return {name, "rrw=", &accept_binary<Function, Second::Tensor>, &run_binary<Function>};
}
template <class Function>
constexpr runtime::Operator number_form(std::string_view name) {
  return {name, "r-w=", &accept_binary<Function, Second::Number>, &run_binary<Function>};
}

constexpr std::array kTable{
    tensor_form<Equal>("aten::eq.Tensor_out"),
    tensor_form<NotEqual>("aten::ne.Tensor_out"),
    tensor_form<Less>("aten::lt.Tensor_out"),
    tensor_form<LessEqual>("aten::le.Tensor_out"),
    tensor_form<Greater>("aten::gt.Tensor_out"),
    tensor_form<GreaterEqual>("aten::ge.Tensor_out"),
    number_form<Equal>("aten::eq.Scalar_out"),
    number_form<NotEqual>("aten::ne.Scalar_out"),
    number_form<Less>("aten::lt.Scalar_out"),
    number_form<LessEqual>("aten::le.Scalar_out"),
    number_form<Greater>("aten::gt.Scalar_out"),
    number_form<GreaterEqual>("aten::ge.Scalar_out"),
    tensor_form<LogicalAnd>("aten::logical_and.out"),
    tensor_form<LogicalOr>("aten::logical_or.out"),
    runtime::Operator{"aten::logical_not.out", "rw=", &accept_unary<LogicalNot>, &run_unary<LogicalNot>},
    runtime::Operator{"aten::where.self_out", "rrrw=", &accept_where, &run_where},
};

}  // namespace

std::span<const runtime::Operator> compare_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
