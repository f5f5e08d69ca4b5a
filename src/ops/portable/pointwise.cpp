#include "ops/portable/pointwise.h"

namespace tandem::ops::portable {
namespace {

using Kind = Argument::Kind;

ScalarType dtype_of(Kind kind) noexcept {
  if (kind == Kind::Int) return ScalarType::Long;
  return kind == Kind::Double ? ScalarType::Double : ScalarType::Bool;
}

}  // namespace

void add_operand(ResultType& type, const ArgumentSpec& spec) noexcept {
  if (spec.kind == Kind::Tensor) return type.add_tensor(spec.dtype, spec.sizes.size());
  type.add_number(dtype_of(spec.kind));
}

void add_operand(ResultType& type, const Argument& argument) noexcept {
  if (argument.is_tensor()) return type.add_tensor(argument.tensor.dtype, argument.tensor.rank);
  type.add_number(dtype_of(argument.kind));
}

Result<View> operand_view(Arguments arguments, std::size_t index) {
  if (arguments[index]->is_tensor()) return view_of(arguments[index]->tensor);
  TANDEM_TRY(const Argument* number, number_at(arguments, index));
  return view_of_number(*number);
}

Result<BinaryCall> begin_binary(Arguments arguments, TensorArg& out,
                                ScalarType (*computed)(ScalarType promoted) noexcept) {
  TANDEM_TRY(const View a, operand_view(arguments, 0));
  TANDEM_TRY(const View b, operand_view(arguments, 1));
  TANDEM_TRY(const Shape sizes, broadcast(a.sizes, b.sizes));
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  ResultType type;
  add_operand(type, *arguments[0]);
  add_operand(type, *arguments[1]);
  const ScalarType dtype = computed(type.dtype());
  return BinaryCall{{Operand{a, dtype}, Operand{b, dtype}}, dtype};
}

}  // namespace tandem::ops::portable
