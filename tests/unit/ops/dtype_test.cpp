#include "ops/portable/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::ops::portable {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(HalfTest, LoadsEveryKindOfNumber) {
  EXPECT_EQ(load(Half{0x3C00}), 1.0F);
  EXPECT_EQ(load(Half{0xC100}), -2.5F);
  EXPECT_EQ(load(Half{0x7BFF}), 65504.0F);
  EXPECT_EQ(load(Half{0x0001}), 0x1p-24F);
  EXPECT_EQ(load(Half{0x83FF}), -0x3FFp-24F);
  EXPECT_EQ(load(Half{0x7C00}), kInfinity);
  EXPECT_TRUE(std::isnan(load(Half{0x7E00})));
  EXPECT_TRUE(std::signbit(load(Half{0x8000})));
}

TEST(HalfTest, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    if (std::isnan(load(half))) continue;
    ASSERT_EQ(store<Half>(load(half)).bits, bits);
  }
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(store<Half>(2049.0F).bits, store<Half>(2048.0F).bits);
  EXPECT_EQ(store<Half>(2051.0F).bits, store<Half>(2052.0F).bits);
  EXPECT_EQ(store<Half>(std::nextafter(2049.0F, 4096.0F)).bits, store<Half>(2050.0F).bits);
  EXPECT_EQ(store<Half>(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(store<Half>(0x1.8p-24F).bits, 0x0002);
  EXPECT_EQ(store<Half>(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(store<Half>(65520.0F).bits, 0x7C00);
  EXPECT_EQ(store<Half>(-1e30F).bits, 0xFC00);
  EXPECT_EQ(store<Half>(std::nanf("")).bits, 0x7E00);
}

TEST(BFloat16Test, RoundsToNearestEven) {
  EXPECT_EQ(store<BFloat16>(1.0F).bits, 0x3F80);
  EXPECT_EQ(store<BFloat16>(0x1.01p0F).bits, 0x3F80);
  EXPECT_EQ(store<BFloat16>(0x1.03p0F).bits, 0x3F82);
  EXPECT_EQ(store<BFloat16>(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(store<BFloat16>(-kInfinity).bits, 0xFF80);
  EXPECT_EQ(store<BFloat16>(std::nanf("")).bits, 0x7FC0);
  EXPECT_EQ(load(BFloat16{0xC020}), -2.5F);
}

TEST(ConvertTest, IntegersWrap) {
  EXPECT_EQ(convert<std::uint8_t>(std::int64_t{300}), 44);
  EXPECT_EQ(convert<std::int8_t>(std::int32_t{200}), -56);
  EXPECT_EQ(convert<std::int32_t>(std::int64_t{1} << 32U), 0);
}

TEST(ConvertTest, FloatsAreCutTowardsZero) {
  EXPECT_EQ(convert<std::int32_t>(-1.9F), -1);
  EXPECT_EQ(convert<std::uint8_t>(-5.5F), 251);
  EXPECT_EQ(convert<std::int8_t>(300.7), 44);
}

TEST(ConvertTest, FloatsOutOfRangeGiveTheSmallestNumber) {
  EXPECT_EQ(convert<std::int32_t>(3e9F), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(convert<std::int64_t>(1e30), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int64_t>(std::nan("")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int64_t>(-0x1p63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int16_t>(kInfinity), 0);
}

TEST(ConvertTest, AnythingButZeroIsTrue) {
  EXPECT_EQ(convert<Bool>(0.25F).byte, 1);
  EXPECT_EQ(convert<Bool>(std::nan("")).byte, 1);
  EXPECT_EQ(convert<Bool>(-0.0F).byte, 0);
  EXPECT_EQ(convert<std::int64_t>(Bool{7}), 1);
}

TEST(PromoteTest, FollowsPyTorchsTable) {
  using enum ScalarType;
  EXPECT_EQ(promote(Byte, Char), Short);
  EXPECT_EQ(promote(Byte, Short), Short);
  EXPECT_EQ(promote(Int, Char), Int);
  EXPECT_EQ(promote(Long, Half), Half);
  EXPECT_EQ(promote(Half, BFloat16), Float);
  EXPECT_EQ(promote(BFloat16, Float), Float);
  EXPECT_EQ(promote(Float, Double), Double);
  EXPECT_EQ(promote(Bool, Byte), Byte);
  EXPECT_EQ(promote(Bool, Bool), Bool);
}

TEST(ResultTypeTest, LowerRankedOperandsCountOnlyByKind) {
  using enum ScalarType;
  const auto of = [](ScalarType axes, ScalarType none, ScalarType number) {
    ResultType type;
    type.add_tensor(axes, 1);
    type.add_tensor(none, 0);
    type.add_number(number);
    return type.dtype();
  };
  EXPECT_EQ(of(Half, Double, Double), Half);
  EXPECT_EQ(of(Char, Long, Long), Char);
  EXPECT_EQ(of(Int, Double, Long), Double);
  EXPECT_EQ(of(Int, Long, Double), Float);
  EXPECT_EQ(of(Bool, Char, Long), Char);
  EXPECT_EQ(of(Bool, Bool, Long), Long);
}

TEST(CanCastTest, LosesNoKind) {
  using enum ScalarType;
  EXPECT_TRUE(can_cast(Double, Half));
  EXPECT_TRUE(can_cast(Long, Char));
  EXPECT_TRUE(can_cast(Bool, Long));
  EXPECT_FALSE(can_cast(Half, Long));
  EXPECT_FALSE(can_cast(Long, Bool));
}

}  // namespace
}  // namespace tandem::ops::portable
