#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::Each;
using ::testing::IsEmpty;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FullTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2, 2});
    ASSERT_OK(call("aten::full.out", {ints({2, 2}), 7, out, out}));
    EXPECT_THAT(out.values(), Each(7)) << name_of(dtype);
  }
  const Value flags = make_tensor(ScalarType::Bool, {2});
  ASSERT_OK(call("aten::full.out", {ints({2}), 0.5, flags, flags}));
  EXPECT_THAT(flags.values(), Each(1));
}

TEST(FullTest, ConvertsTheNumberAsPyTorchDoes) {
  const Value bytes = make_tensor(ScalarType::Byte, {1});
  ASSERT_OK(call("aten::full.out", {ints({1}), -1, bytes, bytes}));
  EXPECT_THAT(bytes.values(), ElementsAre(255));
  const Value numbers = make_tensor(ScalarType::Long, {1});
  ASSERT_OK(call("aten::full.out", {ints({1}), -0.7, numbers, numbers}));
  EXPECT_THAT(numbers.values(), ElementsAre(0));
  const Value real = make_tensor(ScalarType::Half, {1});
  ASSERT_OK(call("aten::full.out", {ints({1}), -kInfinity, real, real}));
  EXPECT_THAT(real.values(), ElementsAre(-kInfinity));
}

TEST(FullTest, RefusesNumbersThatDoNotFit) {
  const std::pair<ScalarType, Value> cases[] = {
      {ScalarType::Byte, 300},          {ScalarType::Char, 128},       {ScalarType::Int, std::int64_t{1} << 31},
      {ScalarType::Half, 65505.0},      {ScalarType::Float, 1e300},    {ScalarType::Long, 0x1p63},
      {ScalarType::Long, std::nan("")}, {ScalarType::BFloat16, 3.4e38}};
  for (const auto& [dtype, number] : cases) {
    const Value out = make_tensor(dtype, {1});
    EXPECT_REFUSED(call("aten::full.out", {ints({1}), number, out, out}), ErrorCode::InvalidArgument, "fit");
  }
}

TEST(FullTest, FollowsStridesRanksAndEmptiness) {
  const Value out = make_tensor(ScalarType::Float, {2, 2}, {1, 0});
  ASSERT_OK(call("aten::full.out", {ints({2, 2}), 0.5, out, out}));
  EXPECT_THAT(out.values(), Each(0.5));
  const Value scalar = make_tensor(ScalarType::Long, {});
  ASSERT_OK(call("aten::full.out", {ints({}), 4, scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(4));
  const Value empty = make_tensor(ScalarType::Long, {0});
  ASSERT_OK(call("aten::full.out", {ints({0}), 4, empty, empty}));
}

TEST(FullTest, RefusesNegativeSizes) {
  const Value out = make_tensor(ScalarType::Float, {2}, {}, /*dynamic=*/true);
  EXPECT_REFUSED(call("aten::full.out", {ints({-1}), 1, out, out}), ErrorCode::InvalidArgument, "[-1]");
}

TEST(FullLikeTest, TakesTheSizesOfSelf) {
  const Value out = make_tensor(ScalarType::Float, {3, 3}, {}, /*dynamic=*/true);
  ASSERT_OK(call("aten::full_like.out", {make_tensor(ScalarType::Bool, {2, 3}), 2.5, kNone, out, out}));
  EXPECT_THAT(out.sizes(), ElementsAre(2, 3));
  EXPECT_THAT(out.values(), Each(2.5));
}

TEST(FillTest, TakesTheSizesOfSelf) {
  const Value out = make_tensor(ScalarType::Int, {2});
  ASSERT_OK(call("aten::fill.Scalar_out", {make_tensor(ScalarType::Int, {2}), 3, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3, 3));
}

TEST(ScalarTensorTest, HoldsTheNumber) {
  const Value out = make_tensor(ScalarType::Double, {});
  ASSERT_OK(call("aten::scalar_tensor.out", {1.5, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1.5));
  const Value vector = make_tensor(ScalarType::Double, {1});
  EXPECT_REFUSED(accept("aten::scalar_tensor.out", {1.5, vector, vector}), ErrorCode::InvalidArgument, "rank");
}

TEST(ArangeTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    ASSERT_OK(call("aten::arange.start_out", {1, 6, 2, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 3, 5)) << name_of(dtype);
    ASSERT_OK(call("aten::arange.out", {3, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0, 1, 2)) << name_of(dtype);
  }
}

TEST(ArangeTest, DownwardsFractionsAndNothing) {
  const Value out = make_tensor(ScalarType::Float, {8}, {}, /*dynamic=*/true);
  ASSERT_OK(call("aten::arange.start_out", {5, 0, -2, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(5, 3, 1));
  ASSERT_OK(call("aten::arange.start_out", {0.5, 2, 0.5, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0.5, 1, 1.5));
  ASSERT_OK(call("aten::arange.start_out", {2, 2, -1, out, out}));
  EXPECT_THAT(out.values(), IsEmpty());
}

TEST(ArangeTest, FractionsCountTowardsTheSizeOfIntegers) {
  const Value out = make_tensor(ScalarType::Int, {4}, {}, /*dynamic=*/true);
  ASSERT_OK(call("aten::arange.start_out", {1, 2.9, 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 2));
}

TEST(ArangeTest, RefusesRangesThatDoNotEnd) {
  const Value out = make_tensor(ScalarType::Long, {8}, {}, /*dynamic=*/true);
  EXPECT_REFUSED(call("aten::arange.start_out", {0, 5, 0, out, out}), ErrorCode::InvalidArgument, "zero");
  EXPECT_REFUSED(call("aten::arange.start_out", {0, 5, -1, out, out}), ErrorCode::InvalidArgument, "away");
  EXPECT_REFUSED(call("aten::arange.start_out", {0, 5.0, -1.0, out, out}), ErrorCode::InvalidArgument, "away");
  EXPECT_REFUSED(call("aten::arange.start_out", {0, kInfinity, 1, out, out}), ErrorCode::InvalidArgument, "finite");
  EXPECT_REFUSED(call("aten::arange.start_out", {0, 1e300, 1, out, out}), ErrorCode::InvalidArgument, "long");
}

TEST(ArangeTest, LongRangesDoNotOverflow) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const Value out = make_tensor(ScalarType::Long, {8}, {}, /*dynamic=*/true);
  ASSERT_OK(call("aten::arange.start_out", {kMin, kMax, kMax, out, out}));
  EXPECT_THAT(out.integers(), ElementsAre(kMin, -1, kMax - 1));
  EXPECT_REFUSED(call("aten::arange.start_out", {kMin, kMax, 1, out, out}), ErrorCode::InvalidArgument, "long");
}

}  // namespace
}  // namespace tandem::testing
