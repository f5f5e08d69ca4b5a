#pragma once

#include <cstdint>
#include <type_traits>

namespace tandem::ops::portable {

/// Arithmetic that wraps around for integers instead of being undefined; plain for floats. On bools, sum and product
/// are "or" and "and".
template <class T>
using Unsigned = std::conditional_t<sizeof(T) <= sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;

template <class T>
[[nodiscard]] constexpr T wrapping_add(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
[[nodiscard]] constexpr T wrapping_sub(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  } else {
    return a - b;
  }
}

template <class T>
[[nodiscard]] constexpr T wrapping_mul(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  } else {
    return a * b;
  }
}

template <class T>
[[nodiscard]] constexpr T wrapping_neg(T a) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_sub(T{0}, a);
  } else {
    return -a;  // 0 - a would lose the sign of a zero
  }
}

}  // namespace tandem::ops::portable
