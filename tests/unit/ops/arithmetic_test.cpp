#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(AddTest, EveryDtypeAddsInItself) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    ASSERT_OK(call("aten::add.out", {tensor(dtype, {3}, {1, 2, 3}), tensor(dtype, {3}, {4, 5, 60}), 1, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(5, 7, 63)) << name_of(dtype);
  }
}

TEST(AddTest, BoolsAreOr) {
  const Value out = make_tensor(ScalarType::Bool, {4});
  ASSERT_OK(call("aten::add.out", {bools({4}, {0, 0, 1, 1}), bools({4}, {0, 1, 0, 1}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 1, 1));
}

TEST(AddTest, ScalesByAlpha) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::add.out", {floats({2}, {1, 2}), floats({2}, {10, 20}), 0.5, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(6, 12));
}

TEST(AddTest, BroadcastsBothOperands) {
  const Value out = make_tensor(ScalarType::Float, {2, 3});
  ASSERT_OK(call("aten::add.out", {floats({2, 1}, {10, 20}), floats({3}, {1, 2, 3}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(11, 12, 13, 21, 22, 23));
}

TEST(AddTest, ReadsAndWritesThroughStrides) {
  const Value a = strided(ScalarType::Float, {2, 3}, {1, 2}, {0, 1, 2, 3, 4, 5});  // a transposed view
  const Value out = make_tensor(ScalarType::Float, {2, 3}, {1, 0});
  ASSERT_OK(call("aten::add.out", {a, iota({2, 3}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 6, 4, 7, 10));
  EXPECT_THAT(out.strides(), ElementsAre(1, 2));
}

TEST(AddTest, ChannelsLastKeepsItsLayout) {
  const std::vector<std::uint8_t> channels_last{0, 2, 3, 1};
  const Value a = iota({2, 3, 2, 2}, ScalarType::Float, channels_last);
  const Value out = make_tensor(ScalarType::Float, {2, 3, 2, 2}, channels_last);
  ASSERT_OK(call("aten::add.out", {a, iota({2, 3, 2, 2}), 1, out, out}));
  const std::vector<double> sums = out.values();
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], 2.0 * static_cast<double>(i));
}

TEST(AddTest, ResizesWithinTheBound) {
  const Value out = make_tensor(ScalarType::Float, {4, 3}, {}, /*dynamic=*/true);
  ASSERT_OK(call("aten::add.out", {iota({2, 3}), iota({2, 3}), 1, out, out}));
  EXPECT_THAT(out.sizes(), ElementsAre(2, 3));
  EXPECT_THAT(out.values(), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(AddTest, LongRowsGoThroughBuffersInPieces) {
  const std::int64_t size = 1300;
  const Value out = make_tensor(ScalarType::Double, {size});
  ASSERT_OK(call("aten::add.out", {iota({size}, ScalarType::Short), floats({}, {0.5}), 2, out, out}));
  const std::vector<double> sums = out.values();
  for (std::int64_t i = 0; i < size; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], static_cast<double>(i) + 1.0);
}

TEST(AddTest, EmptyAndRankZero) {
  const Value empty = make_tensor(ScalarType::Float, {0, 3});
  ASSERT_OK(call("aten::add.out", {make_tensor(ScalarType::Float, {0, 3}), floats({1}, {1}), 1, empty, empty}));
  const Value scalar = make_tensor(ScalarType::Long, {});
  ASSERT_OK(call("aten::add.out", {longs({}, {2}), longs({}, {3}), 1, scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(5));
}

TEST(AddTest, IntegersWrapAround) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const Value out = make_tensor(ScalarType::Long, {1});
  ASSERT_OK(call("aten::add.out", {longs({1}, {kMax}), longs({1}, {1}), 1, out, out}));
  EXPECT_THAT(out.integers(), ElementsAre(std::numeric_limits<std::int64_t>::min()));
  const Value bytes = make_tensor(ScalarType::Byte, {1});
  ASSERT_OK(call("aten::add.Scalar_out", {tensor(ScalarType::Byte, {1}, {1}), 300, 1, bytes, bytes}));
  EXPECT_THAT(bytes.values(), ElementsAre(45));
}

TEST(AddTest, IntegersAreExactBeyondDoubles) {
  const std::int64_t big = (std::int64_t{1} << 60U) + 1;
  const Value out = make_tensor(ScalarType::Long, {1});
  ASSERT_OK(call("aten::add.out", {longs({1}, {big}), longs({1}, {2}), 3, out, out}));
  EXPECT_THAT(out.integers(), ElementsAre(big + 6));
}

TEST(AddTest, HalfRoundsOnceToNearestEven) {
  const Value out = make_tensor(ScalarType::Half, {2});
  ASSERT_OK(call("aten::add.out",
                 {tensor(ScalarType::Half, {2}, {2048, 2050}), tensor(ScalarType::Half, {2}, {1, 1}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2048, 2052));
}

TEST(AddTest, TheCommonDtypeRoundsBeforeTheOutput) {
  const Value out = make_tensor(ScalarType::Float, {1});
  ASSERT_OK(
      call("aten::add.out", {tensor(ScalarType::Half, {1}, {2048}), tensor(ScalarType::Half, {1}, {1}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2048));
}

TEST(AddTest, RankZeroTensorsPromoteOnlyByKind) {
  const Value out = make_tensor(ScalarType::Int, {1});
  const Value scalar = longs({}, {(std::int64_t{1} << 32U) + 5});
  ASSERT_OK(call("aten::add.out", {tensor(ScalarType::Int, {1}, {1}), scalar, 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(6));
}

TEST(AddTest, RefusesAnOutputThatLosesTheKind) {
  const Value out = make_tensor(ScalarType::Long, {2});
  EXPECT_REFUSED(accept("aten::add.out", {iota({2}), iota({2}), 1, out, out}), ErrorCode::InvalidType,
                 "expected float32; found int64 [argument 3]");
}

TEST(AddTest, RefusesDtypesWithoutArithmetic) {
  const Value out = make_tensor(ScalarType::Float, {2});
  const Value complex = make_tensor(ScalarType::ComplexFloat, {2});
  EXPECT_REFUSED(accept("aten::add.out", {iota({2}), complex, 1, out, out}), ErrorCode::InvalidType, "complex64");
}

TEST(AddTest, RefusesAFractionalAlphaOfIntegers) {
  const Value out = make_tensor(ScalarType::Long, {1});
  const Value computed = 1;
  const std::vector<Value> arguments{longs({1}, {1}), longs({1}, {1}), computed, out, out};
  ASSERT_OK(call("aten::add.out", arguments));
  computed.argument().kind = Argument::Kind::Double;  // an earlier step may compute another kind
  EXPECT_REFUSED(run("aten::add.out", arguments), ErrorCode::InvalidType, "alpha");
  EXPECT_REFUSED(accept("aten::add.out", {longs({1}, {1}), longs({1}, {1}), 1.5, out, out}), ErrorCode::InvalidType,
                 "alpha");
}

TEST(AddTest, RefusesAnAlphaThatDoesNotFit) {
  const Value out = make_tensor(ScalarType::Byte, {1});
  const Value ones = tensor(ScalarType::Byte, {1}, {1});
  EXPECT_REFUSED(call("aten::add.out", {ones, ones, 300, out, out}), ErrorCode::InvalidArgument, "300");
}

TEST(AddTest, RefusesShapesThatDoNotBroadcast) {
  const Value out = make_tensor(ScalarType::Float, {2, 3});
  EXPECT_REFUSED(call("aten::add.out", {iota({2, 3}), iota({2}), 1, out, out}), ErrorCode::InvalidArgument,
                 "expected [2, 3]; found [2]");
}

TEST(AddTest, RefusesAnotherRankAtLoad) {
  const Value out = make_tensor(ScalarType::Float, {3});
  EXPECT_REFUSED(accept("aten::add.out", {iota({2, 3}), iota({3}), 1, out, out}), ErrorCode::InvalidArgument,
                 "expected 2; found 1 [argument 3]");
}

TEST(AddTest, RefusesASizeThatTheProgramFixes) {
  const Value out = make_tensor(ScalarType::Float, {4});
  EXPECT_REFUSED(call("aten::add.out", {iota({3}), iota({3}), 1, out, out}), ErrorCode::InvalidArgument, "[3]");
}

TEST(AddTest, OverloadsAreStrict) {
  const Value out = make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(accept("aten::add.out", {iota({2}), 1, 1, out, out}), ErrorCode::InvalidType, "tensor");
  EXPECT_REFUSED(accept("aten::add.Scalar_out", {iota({2}), iota({2}), 1, out, out}), ErrorCode::InvalidType, "tensor");
}

TEST(AddScalarTest, DoublesMakeIntegersFloat) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::add.Scalar_out", {longs({2}, {1, 2}), 0.5, 2, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2, 3));
}

TEST(SubTest, EveryDtypeSubtractsInItself) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2});
    ASSERT_OK(call("aten::sub.out", {tensor(dtype, {2}, {9, 8}), tensor(dtype, {2}, {2, 4}), 2, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(5, 0)) << name_of(dtype);
    ASSERT_OK(call("aten::sub.Scalar_out", {tensor(dtype, {2}, {9, 8}), 3, 1, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(6, 5)) << name_of(dtype);
  }
}

TEST(SubTest, UnsignedBytesWrap) {
  const Value out = make_tensor(ScalarType::Byte, {1});
  ASSERT_OK(
      call("aten::sub.out", {tensor(ScalarType::Byte, {1}, {1}), tensor(ScalarType::Byte, {1}, {2}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(255));
}

TEST(SubTest, RefusesBools) {
  const Value out = make_tensor(ScalarType::Bool, {1});
  EXPECT_REFUSED(accept("aten::sub.out", {bools({1}, {1}), bools({1}, {1}), 1, out, out}), ErrorCode::InvalidType,
                 "found bool");
}

TEST(MulTest, EveryDtypeMultipliesInItself) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    ASSERT_OK(call("aten::mul.out", {tensor(dtype, {3}, {1, 2, 3}), tensor(dtype, {}, {4}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(4, 8, 12)) << name_of(dtype);
    ASSERT_OK(call("aten::mul.Scalar_out", {tensor(dtype, {3}, {1, 2, 3}), 3, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(3, 6, 9)) << name_of(dtype);
  }
}

TEST(MulTest, SmallIntegersWrapWithoutUndefinedBehaviour) {
  const Value shorts = make_tensor(ScalarType::Short, {1});
  ASSERT_OK(call("aten::mul.out",
                 {tensor(ScalarType::Short, {1}, {-32768}), tensor(ScalarType::Short, {1}, {-32768}), shorts, shorts}));
  EXPECT_THAT(shorts.values(), ElementsAre(0));
  const Value longs_out = make_tensor(ScalarType::Long, {1});
  const Value lowest = longs({1}, {std::numeric_limits<std::int64_t>::min()});
  ASSERT_OK(call("aten::mul.out", {lowest, longs({1}, {-1}), longs_out, longs_out}));
  EXPECT_THAT(longs_out.integers(), ElementsAre(std::numeric_limits<std::int64_t>::min()));
}

// Expected values from PyTorch 2.15: 0.1 rounded to 16 bits first would give other products and quotients.
TEST(MulTest, ANumberBesideSixteenBitsIsNotRounded) {
  const Value a = tensor(ScalarType::Half, {3}, {413, 429, 433});
  const Value out = make_tensor(ScalarType::Half, {3});
  ASSERT_OK(call("aten::mul.Scalar_out", {a, 0.1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(41.3125, 42.90625, 43.3125));
  ASSERT_OK(call("aten::mul.out", {a, floats({}, {0.1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(41.3125, 42.90625, 43.3125));
  ASSERT_OK(call("aten::mul.out", {floats({}, {0.1}), a, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(41.28125, 42.875, 43.28125));
  ASSERT_OK(call("aten::div.Scalar_out", {a, 0.1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(4128.0, 4288.0, 4328.0));
}

TEST(MulTest, BoolsAreAnd) {
  const Value out = make_tensor(ScalarType::Bool, {4});
  ASSERT_OK(call("aten::mul.out", {bools({4}, {0, 0, 1, 1}), bools({4}, {0, 1, 0, 1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 0, 1));
}

TEST(DivTest, IntegersDivideInFloat) {
  const Value out = make_tensor(ScalarType::Float, {4});
  ASSERT_OK(call("aten::div.out", {longs({4}, {1, -7, 0, 5}), longs({4}, {2, 2, 0, 0}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0.5, -3.5, IsNan(), kInfinity));
}

TEST(DivTest, EveryFloatDividesInItself) {
  for (const ScalarType dtype : kFloatTypes) {
    const Value out = make_tensor(dtype, {2});
    ASSERT_OK(call("aten::div.Scalar_out", {tensor(dtype, {2}, {1, 3}), 4, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0.25, 0.75)) << name_of(dtype);
  }
}

TEST(DivTest, RefusesAnIntegerOutput) {
  const Value out = make_tensor(ScalarType::Long, {1});
  EXPECT_REFUSED(accept("aten::div.out", {longs({1}, {1}), longs({1}, {1}), out, out}), ErrorCode::InvalidType,
                 "[argument 2]");
}

TEST(MinimumMaximumTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    const Value a = tensor(dtype, {3}, {1, 5, 3});
    const Value b = tensor(dtype, {3}, {4, 2, 3});
    ASSERT_OK(call("aten::minimum.out", {a, b, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 2, 3)) << name_of(dtype);
    ASSERT_OK(call("aten::maximum.out", {a, b, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(4, 5, 3)) << name_of(dtype);
  }
}

TEST(MinimumMaximumTest, NanWinsOnEitherSide) {
  const Value out = make_tensor(ScalarType::Float, {2});
  for (const char* name : {"aten::minimum.out", "aten::maximum.out"}) {
    ASSERT_OK(call(name, {floats({2}, {1, kNan}), floats({2}, {kNan, 1}), out, out}));
    EXPECT_THAT(out.values(), Each(IsNan())) << name;
  }
}

}  // namespace
}  // namespace tandem::testing
