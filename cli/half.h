#pragma once

#include <bit>
#include <cstdint>

namespace tandem::cli {

/// A 16-bit float of one kind: `kExponentBits` and `kFractionBits` beside the sign.
template <int kExponentBits, int kFractionBits>
struct SmallFloat {
  std::uint16_t bits = 0;

  [[nodiscard]] float value() const noexcept {
    constexpr unsigned kExponentMask = (1U << kExponentBits) - 1;
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
    const unsigned exponent = (bits >> kFractionBits) & kExponentMask;
    const unsigned fraction = bits & ((1U << kFractionBits) - 1);
    if (exponent == 0) {  // zero and subnormal numbers: no implied leading one
      constexpr int kLowest = 1 - kBias - kFractionBits;
      // Two steps, because 2^kLowest of a bfloat16 is itself subnormal in a float.
      const float magnitude =
          static_cast<float>(fraction) * power_of_two(kLowest / 2) * power_of_two(kLowest - kLowest / 2);
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide_exponent =
        exponent == kExponentMask ? 0xFFU : exponent + static_cast<unsigned>(127 - kBias);
    return std::bit_cast<float>(sign | (wide_exponent << 23U) | (std::uint32_t{fraction} << (23U - kFractionBits)));
  }

  /// Precondition: `value` is zero or a normal number of this kind, exactly.
  [[nodiscard]] static SmallFloat exactly(float value) noexcept {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (wide >> 16U) & 0x8000U;
    if ((wide & 0x7FFFFFFFU) == 0) return {static_cast<std::uint16_t>(sign)};
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    const std::uint32_t exponent = ((wide >> 23U) & 0xFFU) - static_cast<std::uint32_t>(127 - kBias);
    const std::uint32_t fraction = (wide & 0x7FFFFFU) >> (23U - kFractionBits);
    return {static_cast<std::uint16_t>(sign | (exponent << static_cast<unsigned>(kFractionBits)) | fraction)};
  }

 private:
  static float power_of_two(int exponent) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23U);
  }
};

using Float16 = SmallFloat<5, 10>;
using BrainFloat16 = SmallFloat<8, 7>;

}  // namespace tandem::cli
