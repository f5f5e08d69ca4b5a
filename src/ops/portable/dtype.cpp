#include "ops/portable/dtype.h"

#include <algorithm>

namespace tandem::ops::portable {

ScalarType promote(ScalarType a, ScalarType b) noexcept {
  if (a == b) return a;
  if (a == ScalarType::Bool) return b;
  if (b == ScalarType::Bool) return a;
  const bool a_floats = contains(kFloats, a);
  const bool b_floats = contains(kFloats, b);
  if (a_floats != b_floats) return a_floats ? a : b;
  if (a_floats) {
    if (a == ScalarType::Double || b == ScalarType::Double) return ScalarType::Double;
    return ScalarType::Float;  // float32 with a 16-bit float, or the two 16-bit floats with each other
  }
  // The numbers of the signed integers grow with their width; uint8 fits into all but int8.
  const ScalarType wider = std::max(a, b);
  return std::min(a, b) == ScalarType::Byte && wider == ScalarType::Char ? ScalarType::Short : wider;
}

void ResultType::merge(Level& level, ScalarType dtype) noexcept {
  level.dtype = level.any ? promote(level.dtype, dtype) : dtype;
  level.any = true;
}

ResultType::Level ResultType::combine(const Level& higher, const Level& lower) noexcept {
  if (!higher.any || !lower.any) return higher.any ? higher : lower;
  if (contains(kFloats, higher.dtype)) return higher;
  if (higher.dtype == ScalarType::Bool || contains(kFloats, lower.dtype)) {
    return {promote(higher.dtype, lower.dtype), true};
  }
  return higher;
}

ScalarType ResultType::dtype() const noexcept { return combine(tensors_, combine(scalars_, numbers_)).dtype; }

}  // namespace tandem::ops::portable
