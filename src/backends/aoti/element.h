#pragma once

#include <tandem/scalar_type.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tandem::aoti {

/// IEEE binary16 and bfloat16 as their bits. Conversions round to nearest, ties to even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) noexcept;
  explicit operator float() const noexcept;
};

/// How PyTorch's complex numbers travel through C functions.
template <class Real>
struct ComplexNumber {
  Real real, imaginary;
};

template <class T>
inline constexpr bool is_reduced_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Calls `visit(T{})` with the C++ type of a real element type. False for the others.
template <class Visit>
bool visit_real(ScalarType type, Visit&& visit) {
  switch (type) {
    case ScalarType::Byte:
      visit(std::uint8_t{});
      return true;
    case ScalarType::Char:
      visit(std::int8_t{});
      return true;
    case ScalarType::Short:
      visit(std::int16_t{});
      return true;
    case ScalarType::Int:
      visit(std::int32_t{});
      return true;
    case ScalarType::Long:
      visit(std::int64_t{});
      return true;
    case ScalarType::UInt16:
      visit(std::uint16_t{});
      return true;
    case ScalarType::UInt32:
      visit(std::uint32_t{});
      return true;
    case ScalarType::UInt64:
      visit(std::uint64_t{});
      return true;
    case ScalarType::Half:
      visit(Half{});
      return true;
    case ScalarType::BFloat16:
      visit(BFloat16{});
      return true;
    case ScalarType::Float:
      visit(float{});
      return true;
    case ScalarType::Double:
      visit(double{});
      return true;
    case ScalarType::Bool:
      visit(bool{});
      return true;
    default:
      return false;
  }
}

/// One element, converted as ATen does: to bool by "is not zero", to integers by truncation (out of range: what the
/// x86 conversion to 64 bits leaves, then modulo).
template <class To, class From>
[[nodiscard]] To convert(From value) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_reduced_float<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (is_reduced_float<To>) {
    return To{static_cast<float>(value)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto kLimit = static_cast<From>(9223372036854775808.0);
    if (std::is_same_v<To, std::uint64_t> && value >= kLimit && value < 2 * kLimit) {
      return static_cast<To>(static_cast<std::uint64_t>(value));
    }
    const bool fits = value >= -kLimit && value < kLimit;  // false for NaN
    return static_cast<To>(fits ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<To>(value);
  }
}

/// Element at `data` of dtype `type`, as a To. False if `type` is no real type.
template <class To>
[[nodiscard]] bool read_element(ScalarType type, const std::byte* data, To& out) noexcept {
  return visit_real(type, [&](auto zero) {
    std::memcpy(&zero, data, sizeof zero);
    out = convert<To>(zero);
  });
}

}  // namespace tandem::aoti
