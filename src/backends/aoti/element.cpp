#include "backends/aoti/element.h"

#include <bit>

namespace tandem::aoti {

BFloat16::BFloat16(float value) noexcept {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40U);  // stays a NaN when its low bits go
    return;
  }
  bits = static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
}

BFloat16::operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

Half::Half(float value) noexcept {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000U;
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
  } else if (magnitude >= 0x477FF000U) {  // 65520 and above round to infinity
    half = 0x7C00U;
  } else if (magnitude >= 0x38800000U) {  // a normal half: from 2^-14
    const std::uint32_t rebiased = magnitude - 0x38000000U;
    half = (rebiased + 0xFFFU + ((rebiased >> 13) & 1U)) >> 13;
  } else {
    // Subnormal: adding 0.5 leaves the 10 fraction bits, rounded, at the bottom of the word.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  }
  bits = static_cast<std::uint16_t>(sign | half);
}

Half::operator float() const noexcept {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) {
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  }
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  const float small = static_cast<float>(magnitude) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

}  // namespace tandem::aoti
