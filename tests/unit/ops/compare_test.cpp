#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Comparison {
  const char* name;
  std::vector<double> expected;  // of 1, 2, 3 with 2
};
const Comparison kComparisons[] = {{"eq", {0, 1, 0}}, {"ne", {1, 0, 1}}, {"lt", {1, 0, 0}},
                                   {"le", {1, 1, 0}}, {"gt", {0, 0, 1}}, {"ge", {0, 1, 1}}};

TEST(ComparisonTest, TensorsOfEveryDtype) {
  for (const auto& [name, expected] : kComparisons) {
    for (const ScalarType dtype : kNumberTypes) {
      const Value out = make_tensor(ScalarType::Bool, {3});
      const std::string full = std::string{"aten::"} + name + ".Tensor_out";
      ASSERT_OK(call(full, {tensor(dtype, {3}, {1, 2, 3}), tensor(dtype, {}, {2}), out, out}));
      EXPECT_THAT(out.values(), ElementsAreArray(expected)) << full << " " << name_of(dtype);
    }
  }
}

TEST(ComparisonTest, NumbersOfEveryKind) {
  for (const auto& [name, expected] : kComparisons) {
    const Value out = make_tensor(ScalarType::Bool, {3});
    const std::string full = std::string{"aten::"} + name + ".Scalar_out";
    for (const Value& number : {Value{2}, Value{2.0}}) {
      ASSERT_OK(call(full, {longs({3}, {1, 2, 3}), number, out, out}));
      EXPECT_THAT(out.values(), ElementsAreArray(expected)) << full;
    }
  }
}

TEST(ComparisonTest, NanIsUnequalToEverything) {
  const Value out = make_tensor(ScalarType::Bool, {1});
  const Value nan = floats({1}, {kNan});
  for (const char* name : {"aten::eq.Tensor_out", "aten::lt.Tensor_out", "aten::ge.Tensor_out"}) {
    ASSERT_OK(call(name, {nan, nan, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0)) << name;
  }
  ASSERT_OK(call("aten::ne.Tensor_out", {nan, nan, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1));
}

TEST(ComparisonTest, MixedDtypesCompareInTheCommonOne) {
  const Value out = make_tensor(ScalarType::Bool, {1});
  ASSERT_OK(call("aten::eq.Tensor_out", {longs({1}, {16777217}), floats({1}, {16777216}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1));
  ASSERT_OK(call("aten::eq.Tensor_out", {longs({1}, {16777217}), longs({1}, {16777216}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0));
}

TEST(ComparisonTest, ResultsGoToOtherDtypes) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::gt.Scalar_out", {iota({2}), 0, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1));
}

TEST(LogicalTest, NonzeroIsTrue) {
  const Value out = make_tensor(ScalarType::Bool, {4});
  const Value a = floats({4}, {0, 0, kNan, 0.5});
  const Value b = longs({4}, {0, 2, 0, 3});
  ASSERT_OK(call("aten::logical_and.out", {a, b, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 0, 1));
  ASSERT_OK(call("aten::logical_or.out", {a, b, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 1, 1));
  ASSERT_OK(call("aten::logical_not.out", {a, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 1, 0, 0));
}

TEST(LogicalTest, BytesOtherThanOneAreTrue) {
  const Value a = make_tensor(ScalarType::Bool, {1});  // 0xA5
  const Value out = make_tensor(ScalarType::Bool, {1});
  ASSERT_OK(call("aten::logical_not.out", {a, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0));
}

TEST(WhereTest, EveryDtypeChooses) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    const Value condition = bools({3}, {1, 0, 1});
    ASSERT_OK(call("aten::where.self_out",
                   {condition, tensor(dtype, {3}, {1, 2, 3}), tensor(dtype, {3}, {4, 5, 6}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 5, 3)) << name_of(dtype);
  }
}

TEST(WhereTest, BroadcastsAllThree) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::where.self_out", {bools({2, 1}, {1, 0}), floats({2}, {1, 2}), floats({}, {9}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 2, 9, 9));
}

TEST(WhereTest, BytesAreConditionsToo) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(
      call("aten::where.self_out", {tensor(ScalarType::Byte, {2}, {0, 7}), floats({}, {1}), longs({}, {2}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2, 1));
}

TEST(WhereTest, KeepsNan) {
  const Value out = make_tensor(ScalarType::Float, {1});
  ASSERT_OK(call("aten::where.self_out", {bools({1}, {1}), floats({1}, {kNan}), floats({1}, {0}), out, out}));
  EXPECT_THAT(out.values(), Each(::testing::IsNan()));
}

TEST(WhereTest, RefusesAFloatCondition) {
  const Value out = make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(accept("aten::where.self_out", {iota({2}), iota({2}), iota({2}), out, out}), ErrorCode::InvalidType,
                 "found float32 [argument 0]");
}

}  // namespace
}  // namespace tandem::testing
