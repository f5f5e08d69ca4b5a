#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using Kind = Argument::Kind;

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

TEST(SymSizeTest, ReadsSizes) {
  const Value result = 0;
  ASSERT_OK(call("aten::sym_size.int", {iota({2, 3}), -1, result}));
  EXPECT_EQ(result.argument().integer, 3);
  ASSERT_OK(call("aten::sym_numel", {iota({2, 3}), result}));
  EXPECT_EQ(result.argument().integer, 6);
  EXPECT_REFUSED(call("aten::sym_size.int", {iota({2, 3}), 2, result}), ErrorCode::InvalidArgument, "found 2");
  EXPECT_REFUSED(call("aten::sym_size.int", {iota({}), 0, result}), ErrorCode::InvalidArgument, "no size");
}

TEST(LocalScalarTest, TheDtypeDecidesTheKind) {
  const Value result = 0;
  for (const ScalarType dtype : kIntegerTypes) {
    ASSERT_OK(call("aten::_local_scalar_dense", {tensor(dtype, {2}, {7, 8}), result}));
    EXPECT_EQ(result.argument().kind, Kind::Int);
    EXPECT_EQ(result.argument().integer, 7) << name_of(dtype);
  }
  for (const ScalarType dtype : kFloatTypes) {
    ASSERT_OK(call("aten::_local_scalar_dense", {tensor(dtype, {}, {0.5}), result}));
    EXPECT_EQ(result.argument().kind, Kind::Double);
    EXPECT_EQ(result.argument().number, 0.5) << name_of(dtype);
  }
  ASSERT_OK(call("aten::_local_scalar_dense", {bools({1}, {1}), result}));
  EXPECT_EQ(result.argument().kind, Kind::Bool);
  EXPECT_TRUE(result.argument().flag);
}

TEST(LocalScalarTest, RefusesEmptyTensors) {
  EXPECT_REFUSED(call("aten::_local_scalar_dense", {make_tensor(ScalarType::Float, {0}), 0}),
                 ErrorCode::InvalidArgument, "found [0]");
}

TEST(CopyIndexTest, GrowsAndFillsSliceBySlice) {
  const Value to = make_tensor(ScalarType::Float, {3, 2}, {}, /*dynamic=*/true);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(call("executorch_prim::et_copy_index.tensor", {to, floats({2}, {1.0 * i, 10.0 * i}), i}));
    EXPECT_THAT(to.sizes(), ElementsAre(i + 1, 2));
  }
  EXPECT_THAT(to.values(), ElementsAre(0, 0, 1, 10, 2, 20));
}

TEST(CopyIndexTest, ReadsStridedSlices) {
  const Value to = make_tensor(ScalarType::Short, {1, 2, 2});
  const Value from = strided(ScalarType::Short, {2, 2}, {1, 2}, {0, 1, 2, 3});
  ASSERT_OK(call("executorch_prim::et_copy_index.tensor", {to, from, 0}));
  EXPECT_THAT(to.values(), ElementsAre(0, 2, 1, 3));
}

TEST(CopyIndexTest, RefusesIndicesBeyondTheBound) {
  const Value to = make_tensor(ScalarType::Float, {3, 2}, {}, /*dynamic=*/true);
  for (const std::int64_t index : {std::int64_t{3}, std::int64_t{-1}, kMax, kMax - 1}) {
    EXPECT_REFUSED(call("executorch_prim::et_copy_index.tensor", {to, iota({2}), index}), ErrorCode::InvalidArgument,
                   "");
  }
}

TEST(CopyIndexTest, RefusesSlicesThatDoNotFit) {
  const Value to = make_tensor(ScalarType::Float, {3, 2}, {}, /*dynamic=*/true);
  EXPECT_REFUSED(call("executorch_prim::et_copy_index.tensor", {to, iota({3}), 0}), ErrorCode::InvalidArgument,
                 "expected [2]; found [3] [argument 1]");
  EXPECT_REFUSED(accept("executorch_prim::et_copy_index.tensor", {to, iota({2, 1}), 0}), ErrorCode::InvalidArgument,
                 "rank");
  EXPECT_REFUSED(accept("executorch_prim::et_copy_index.tensor", {to, longs({2}, {0, 0}), 0}), ErrorCode::InvalidType,
                 "int64");
  const Value columns = make_tensor(ScalarType::Float, {3, 2}, {1, 0}, /*dynamic=*/true);
  EXPECT_REFUSED(accept("executorch_prim::et_copy_index.tensor", {columns, iota({2}), 0}), ErrorCode::NotSupported,
                 "axis 1 outermost");
}

TEST(ViewTest, SharesTheBytes) {
  const Value self = iota({2, 3});
  const Value out = make_tensor(ScalarType::Float, {4, 6}, {}, /*dynamic=*/true);
  out.tensor().data = nullptr;
  ASSERT_OK(call("executorch_prim::et_view.default", {self, ints({3, -1}), out}));
  EXPECT_EQ(out.tensor().data, self.tensor().data);
  EXPECT_THAT(out.sizes(), ElementsAre(3, 2));
  EXPECT_THAT(out.strides(), ElementsAre(2, 1));
}

TEST(ViewTest, EmptyTensorsHaveViews) {
  const Value out = make_tensor(ScalarType::Float, {0, 7});
  ASSERT_OK(call("executorch_prim::et_view.default", {make_tensor(ScalarType::Float, {3, 0}), ints({0, 7}), out}));
}

TEST(ViewTest, RefusesAnotherNumberOfElements) {
  const Value out = make_tensor(ScalarType::Float, {4}, {}, /*dynamic=*/true);
  for (const Value& size : {ints({4}), ints({-1, -1}), ints({4, -1})}) {
    EXPECT_REFUSED(call("executorch_prim::et_view.default", {iota({2, 3}), size, out}), ErrorCode::InvalidArgument,
                   "expected 6 elements");
  }
}

TEST(ViewTest, RefusesOtherLayouts) {
  const Value out = make_tensor(ScalarType::Float, {6});
  EXPECT_REFUSED(accept("executorch_prim::et_view.default", {iota({2, 3}, ScalarType::Float, {1, 0}), ints({6}), out}),
                 ErrorCode::NotSupported, "[argument 0]");
  const Value view = strided(ScalarType::Float, {3, 2}, {1, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_REFUSED(call("executorch_prim::et_view.default", {view, ints({6}), out}), ErrorCode::InvalidArgument,
                 "row-major");
}

TEST(ViewTest, AxesOfSizeOneMayStandAnywhere) {
  const Value self = iota({1, 2, 3}, ScalarType::Float, {1, 0, 2});
  const Value out = make_tensor(ScalarType::Float, {6});
  ASSERT_OK(call("executorch_prim::et_view.default", {self, ints({6}), out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace tandem::testing
