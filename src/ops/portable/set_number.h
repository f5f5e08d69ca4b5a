#pragma once

#include <tandem/argument.h>

#include <cstdint>

namespace tandem::ops::portable {

/// Makes a value the number that an operator computed; its kind follows the number's.
inline void set_number(Argument& result, std::int64_t value) noexcept {
  result.kind = Argument::Kind::Int;
  result.integer = value;
}
inline void set_number(Argument& result, double value) noexcept {
  result.kind = Argument::Kind::Double;
  result.number = value;
}
inline void set_number(Argument& result, bool value) noexcept {
  result.kind = Argument::Kind::Bool;
  result.flag = value;
}

}  // namespace tandem::ops::portable
