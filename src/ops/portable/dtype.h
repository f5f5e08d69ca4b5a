#pragma once

#include <tandem/scalar_type.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tandem::ops::portable {

/// Elements as they lie in memory where C++ has no type of its own, or none that is safe for bytes out of a file.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;  ///< Any value; all but 0 are true.
};

template <class T>
inline constexpr bool kIsShortFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// What arithmetic on elements of T is done in: float for the 16-bit floats, bool for Bool, else T.
template <class T>
using Math = std::conditional_t<kIsShortFloat<T>, float, std::conditional_t<std::is_same_v<T, Bool>, bool, T>>;

[[nodiscard]] inline float load(Half h) noexcept {
  const std::uint32_t sign = (h.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (h.bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = h.bits & 0x3FFU;
  if (exponent == 0) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24F) | sign);
  }
  const std::uint32_t rebased = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | rebased << 23U | mantissa << 13U);
}
[[nodiscard]] inline float load(BFloat16 b) noexcept { return std::bit_cast<float>(std::uint32_t{b.bits} << 16U); }
[[nodiscard]] inline bool load(Bool b) noexcept { return b.byte != 0; }
template <class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] inline T load(T value) noexcept { return value; }

/// Rounds to nearest, ties to even; every NaN becomes one quiet NaN, as in PyTorch.
template <class T>
[[nodiscard]] inline T store(Math<T> value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
    std::uint32_t half = 0;
    if (magnitude > 0x7F80'0000U) {
      half = 0x7E00U;
    } else if (magnitude >= 0x4780'0000U) {  // 65536 and up
      half = 0x7C00U;
    } else if (magnitude < 0x3880'0000U) {  // subnormal in half: adding 0.5 makes the FPU round to its last place
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F00'0000U;
    } else {
      half = (magnitude - (112U << 23U) + 0xFFFU + (magnitude >> 13U & 1U)) >> 13U;
    }
    return Half{static_cast<std::uint16_t>(sign | half)};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return BFloat16{0x7FC0U};
    return BFloat16{static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U)};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<std::uint8_t>(value ? 1 : 0)};
  } else {
    return value;
  }
}

/// One element in another type, with PyTorch's results: integers wrap, floats are truncated towards zero.
///
/// Where C++ leaves a float to integer conversion open: 64 and 32 bits give the smallest number for NaN and for what
/// is out of range (what x86 does); narrower integers are the low bits of the 64-bit result.
template <class To, class From>
[[nodiscard]] inline To convert(From value) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (!std::is_arithmetic_v<From>) {
    return convert<To>(load(value));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return store<Bool>(value != From{});
  } else if constexpr (kIsShortFloat<To>) {
    return store<To>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) < sizeof(std::int32_t)) {
      return static_cast<To>(convert<std::int64_t>(value));
    } else {
      constexpr auto kLowest = static_cast<From>(std::numeric_limits<To>::min());  // a power of two: exact
      return value >= kLowest && value < -kLowest ? static_cast<To>(value) : std::numeric_limits<To>::min();
    }
  } else {
    return static_cast<To>(value);
  }
}

/// A set of ScalarTypes, one bit each.
using DtypeSet = std::uint32_t;

[[nodiscard]] constexpr DtypeSet set_of(ScalarType dtype) noexcept {
  const int number = static_cast<int>(dtype);
  return number >= 0 && number < 32 ? DtypeSet{1} << number : 0;
}
[[nodiscard]] constexpr bool contains(DtypeSet set, ScalarType dtype) noexcept { return (set & set_of(dtype)) != 0; }

inline constexpr DtypeSet kBool = set_of(ScalarType::Bool);
inline constexpr DtypeSet kIntegers = set_of(ScalarType::Byte) | set_of(ScalarType::Char) | set_of(ScalarType::Short) |
                                      set_of(ScalarType::Int) | set_of(ScalarType::Long);
inline constexpr DtypeSet kFloats =
    set_of(ScalarType::Half) | set_of(ScalarType::BFloat16) | set_of(ScalarType::Float) | set_of(ScalarType::Double);
inline constexpr DtypeSet kNumbers = kIntegers | kFloats;
inline constexpr DtypeSet kShortFloats = set_of(ScalarType::Half) | set_of(ScalarType::BFloat16);
/// All that arithmetic and conversions serve.
inline constexpr DtypeSet kReal = kNumbers | kBool;
inline constexpr DtypeSet kIndices = set_of(ScalarType::Int) | set_of(ScalarType::Long);
inline constexpr DtypeSet kLong = set_of(ScalarType::Long);

/// Calls `make.template operator()<T>()` with the element type of `dtype`; a null result if it is not in kSet.
template <DtypeSet kSet, class Make>
[[nodiscard]] auto for_dtype(ScalarType dtype, Make make) noexcept {
  using Made = decltype(make.template operator()<float>());
  switch (dtype) {
#define TANDEM_CASE(name, type)                                                                    \
  case ScalarType::name:                                                                           \
    if constexpr (contains(kSet, ScalarType::name)) return Made{make.template operator()<type>()}; \
    break
    TANDEM_CASE(Byte, std::uint8_t);
    TANDEM_CASE(Char, std::int8_t);
    TANDEM_CASE(Short, std::int16_t);
    TANDEM_CASE(Int, std::int32_t);
    TANDEM_CASE(Long, std::int64_t);
    TANDEM_CASE(Half, Half);
    TANDEM_CASE(Float, float);
    TANDEM_CASE(Double, double);
    TANDEM_CASE(Bool, Bool);
    TANDEM_CASE(BFloat16, BFloat16);
#undef TANDEM_CASE
    default:
      break;
  }
  return Made{};
}

/// The dtype that holds the values of both, by PyTorch's table. Precondition: both are in kReal.
[[nodiscard]] ScalarType promote(ScalarType a, ScalarType b) noexcept;

/// The dtype of a result over several operands: tensors with axes count before those without, and these before plain
/// numbers, unless the later one is of a higher kind (bool, integer, float).
/// Source: PyTorch, "Tensor Attributes: type promotion".
class ResultType {
 public:
  void add_tensor(ScalarType dtype, std::size_t rank) noexcept { merge(rank == 0 ? scalars_ : tensors_, dtype); }
  /// An integer, a double or a bool of the program; doubles count as the default dtype, float32.
  void add_number(ScalarType dtype) noexcept {
    merge(numbers_, dtype == ScalarType::Double ? ScalarType::Float : dtype);
  }
  /// Precondition: something was added.
  [[nodiscard]] ScalarType dtype() const noexcept;

 private:
  struct Level {
    ScalarType dtype = ScalarType::Bool;
    bool any = false;
  };
  static void merge(Level& level, ScalarType dtype) noexcept;
  static Level combine(const Level& higher, const Level& lower) noexcept;

  Level tensors_{}, scalars_{}, numbers_{};
};

/// Whether PyTorch lets a result of `from` be written to an output of `to`.
[[nodiscard]] constexpr bool can_cast(ScalarType from, ScalarType to) noexcept {
  if (contains(kFloats, from) && !contains(kFloats, to)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}

}  // namespace tandem::ops::portable
