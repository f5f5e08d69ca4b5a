#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::Each;
using ::testing::IsNan;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SumTest, EveryDtypeOverOneAxis) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2});
    ASSERT_OK(call("aten::sum.IntList_out", {iota({2, 3}, dtype), ints({-1}), false, kNone, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(3, 12)) << name_of(dtype);
  }
}

TEST(SumTest, NoAxesAreAllAxes) {
  const Value out = make_tensor(ScalarType::Float, {});
  for (const Value& dims : {kNone, ints({}), ints({0, 1})}) {
    ASSERT_OK(call("aten::sum.IntList_out", {iota({2, 3}), dims, false, kNone, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(15));
  }
}

TEST(SumTest, KeepsAxesOnDemandInAnyLayout) {
  const Value out = make_tensor(ScalarType::Float, {2, 1, 2}, {2, 1, 0});
  const Value self = iota({2, 3, 2}, ScalarType::Float, {1, 2, 0});
  ASSERT_OK(call("aten::sum.IntList_out", {self, ints({1}), true, kNone, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(6, 9, 24, 27));
}

TEST(SumTest, ConvertsToTheOutputFirst) {
  const Value out = make_tensor(ScalarType::Long, {});
  ASSERT_OK(call("aten::sum.IntList_out", {bools({3}, {1, 1, 0}), kNone, false, 4, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2));
  const Value bytes = make_tensor(ScalarType::Byte, {});
  ASSERT_OK(call("aten::sum.IntList_out", {longs({2}, {200, 100}), kNone, false, kNone, bytes, bytes}));
  EXPECT_THAT(bytes.values(), ElementsAre(44));
}

TEST(SumTest, LongHalfSumsDoNotStall) {
  const Value out = make_tensor(ScalarType::Half, {});
  const Value ones = tensor(ScalarType::Half, {4096}, std::vector<double>(4096, 1.0));
  ASSERT_OK(call("aten::sum.IntList_out", {ones, kNone, false, kNone, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(4096));
}

TEST(SumTest, EmptyAndRankZero) {
  const Value rows = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(
      call("aten::sum.IntList_out", {make_tensor(ScalarType::Float, {2, 0}), ints({1}), false, kNone, rows, rows}));
  EXPECT_THAT(rows.values(), ElementsAre(0, 0));
  const Value scalar = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::sum.IntList_out", {floats({}, {3}), ints({-1}), false, kNone, scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(3));
}

TEST(SumTest, RefusesBadAxesAndDtypes) {
  const Value out = make_tensor(ScalarType::Float, {3});
  EXPECT_REFUSED(call("aten::sum.IntList_out", {iota({2, 3}), ints({0, -2}), false, kNone, out, out}),
                 ErrorCode::InvalidArgument, "twice");
  EXPECT_REFUSED(call("aten::sum.IntList_out", {iota({2, 3}), ints({2}), false, kNone, out, out}),
                 ErrorCode::InvalidArgument, "expected -2 to 1; found 2");
  EXPECT_REFUSED(accept("aten::sum.IntList_out", {iota({2, 3}), ints({0}), false, 7, out, out}), ErrorCode::InvalidType,
                 "[argument 3]");
}

TEST(MeanTest, EveryFloat) {
  for (const ScalarType dtype : kFloatTypes) {
    const Value out = make_tensor(dtype, {2, 1});
    ASSERT_OK(call("aten::mean.out", {iota({2, 2}, dtype), ints({1}), true, kNone, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0.5, 2.5)) << name_of(dtype);
  }
}

TEST(MeanTest, NothingHasNoMean) {
  const Value out = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::mean.out", {make_tensor(ScalarType::Float, {0}), kNone, false, kNone, out, out}));
  EXPECT_THAT(out.values(), Each(IsNan()));
}

TEST(MeanTest, IntegersNeedADtype) {
  const Value out = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::mean.out", {longs({2}, {1, 2}), kNone, false, 6, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1.5));
  EXPECT_REFUSED(accept("aten::mean.out", {longs({2}, {1, 2}), kNone, false, kNone, out, out}), ErrorCode::InvalidType,
                 "found int64 [argument 0]");
}

TEST(ExtremeTest, EveryDtypeWithPositions) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value values = make_tensor(dtype, {2});
    const Value places = make_tensor(ScalarType::Long, {2});
    const Value self = tensor(dtype, {2, 3}, {3, 9, 1, 4, 2, 8});
    const Value both = tensors({values, places});
    ASSERT_OK(call("aten::max.dim_max", {self, 1, false, values, places, both}));
    EXPECT_THAT(values.values(), ElementsAre(9, 8)) << name_of(dtype);
    EXPECT_THAT(places.values(), ElementsAre(1, 2)) << name_of(dtype);
    ASSERT_OK(call("aten::min.dim_min", {self, -1, false, values, places, both}));
    EXPECT_THAT(values.values(), ElementsAre(1, 2)) << name_of(dtype);
    EXPECT_THAT(places.values(), ElementsAre(2, 1)) << name_of(dtype);
  }
}

TEST(ExtremeTest, TheFirstOfEqualsAndTheFirstNan) {
  const Value values = make_tensor(ScalarType::Float, {2});
  const Value places = make_tensor(ScalarType::Long, {2});
  const Value self = floats({2, 3}, {7, 7, 1, 2, kNan, kNan});
  ASSERT_OK(call("aten::max.dim_max", {self, 1, false, values, places, tensors({values, places})}));
  EXPECT_THAT(values.values(), ElementsAre(7, IsNan()));
  EXPECT_THAT(places.values(), ElementsAre(0, 1));
}

TEST(ExtremeTest, KeepsTheAxisAndTakesRankZero) {
  const Value values = make_tensor(ScalarType::Bool, {1, 2});
  const Value places = make_tensor(ScalarType::Long, {1, 2});
  ASSERT_OK(
      call("aten::max.dim_max", {bools({2, 2}, {0, 0, 1, 0}), 0, true, values, places, tensors({values, places})}));
  EXPECT_THAT(values.values(), ElementsAre(1, 0));
  EXPECT_THAT(places.values(), ElementsAre(1, 0));
  const Value value = make_tensor(ScalarType::Float, {});
  const Value place = make_tensor(ScalarType::Long, {});
  ASSERT_OK(call("aten::max.dim_max", {floats({}, {5}), 0, false, value, place, tensors({value, place})}));
  EXPECT_THAT(value.values(), ElementsAre(5));
  EXPECT_THAT(place.values(), ElementsAre(0));
}

TEST(ExtremeTest, RefusesAnAxisWithoutElements) {
  const Value values = make_tensor(ScalarType::Float, {2});
  const Value places = make_tensor(ScalarType::Long, {2});
  const Value self = make_tensor(ScalarType::Float, {2, 0});
  EXPECT_REFUSED(call("aten::max.dim_max", {self, 1, false, values, places, tensors({values, places})}),
                 ErrorCode::InvalidArgument, "no extreme");
  EXPECT_REFUSED(call("aten::amax.out", {self, ints({1}), false, values, values}), ErrorCode::InvalidArgument,
                 "no extreme");
}

TEST(AmaxTest, SeveralAxesOfAView) {
  const Value self = strided(ScalarType::Float, {2, 2, 2}, {1, 4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::amax.out", {self, ints({0, 2}), false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3, 7));
  ASSERT_OK(call("aten::amin.out", {self, ints({0, 2}), false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 4));
}

TEST(AmaxTest, RefusesAnotherDtype) {
  const Value out = make_tensor(ScalarType::Double, {});
  EXPECT_REFUSED(accept("aten::amax.out", {iota({2}), ints({}), false, out, out}), ErrorCode::InvalidType, "float64");
}

TEST(ArgmaxTest, CountsInRowMajorOrderWithoutAnAxis) {
  const Value out = make_tensor(ScalarType::Long, {});
  const Value self = tensor(ScalarType::Float, {2, 2}, {1, 9, 0, 3}, {1, 0});
  ASSERT_OK(call("aten::argmax.out", {self, kNone, false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1));
  ASSERT_OK(call("aten::argmin.out", {self, kNone, false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2));
}

TEST(ArgmaxTest, EveryDtypeAlongAnAxis) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(ScalarType::Long, {1, 3});
    ASSERT_OK(call("aten::argmax.out", {tensor(dtype, {2, 3}, {3, 9, 1, 4, 2, 8}), 0, true, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 0, 1)) << name_of(dtype);
  }
}

TEST(ArgmaxTest, RefusesBoolsAndOtherOutputs) {
  const Value out = make_tensor(ScalarType::Long, {});
  EXPECT_REFUSED(accept("aten::argmax.out", {bools({2}, {0, 1}), 0, false, out, out}), ErrorCode::InvalidType, "bool");
  const Value narrow = make_tensor(ScalarType::Int, {});
  EXPECT_REFUSED(accept("aten::argmax.out", {iota({2}), 0, false, narrow, narrow}), ErrorCode::InvalidType,
                 "expected int64; found int32 [argument 3]");
}

}  // namespace
}  // namespace tandem::testing
