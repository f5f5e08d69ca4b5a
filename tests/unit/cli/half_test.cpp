#include "cli/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem::cli {
namespace {

// Source of the bit patterns: IEEE 754-2019, table 3.5 (binary16).
TEST(Float16Test, ReadsTheLandmarks) {
  EXPECT_EQ((Float16{0x0000}.value()), 0.0F);
  EXPECT_TRUE(std::signbit(Float16{0x8000}.value()));
  EXPECT_EQ((Float16{0x3C00}.value()), 1.0F);
  EXPECT_EQ((Float16{0xC000}.value()), -2.0F);
  EXPECT_EQ((Float16{0x7BFF}.value()), 65504.0F);
  EXPECT_EQ((Float16{0x0400}.value()), 0x1p-14F) << "smallest normal number";
  EXPECT_EQ((Float16{0x0001}.value()), 0x1p-24F) << "smallest subnormal number";
  EXPECT_EQ((Float16{0x83FF}.value()), -0x1.FF8p-15F) << "largest subnormal number";
  EXPECT_TRUE(std::isinf(Float16{0x7C00}.value()));
  EXPECT_TRUE(std::isnan(Float16{0x7E00}.value()));
}

TEST(BrainFloat16Test, IsTheUpperHalfOfAFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto expected = std::bit_cast<float>(bits << 16U);
    const float value = BrainFloat16{static_cast<std::uint16_t>(bits)}.value();
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      EXPECT_EQ(value, expected) << bits;
    }
  }
}

TEST(Float16Test, WritesEveryNormalNumberExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const float value = half.value();
    if (value != 0 && !std::isnormal(value)) continue;       // infinities, NaN
    if (value != 0 && std::abs(value) < 0x1p-14F) continue;  // subnormal as a half
    EXPECT_EQ(Float16::exactly(value).bits, half.bits);
  }
}

}  // namespace
}  // namespace tandem::cli
