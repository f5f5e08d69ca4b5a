#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

TEST(IndexTest, OneTensorOnAnyAxis) {
  const Value out = make_tensor(ScalarType::Float, {2, 3});
  const Value index = longs({3}, {2, 0, -1});
  ASSERT_OK(call("aten::index.Tensor_out", {iota({2, 3}), optional_tensors({kNone, index}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2, 0, 2, 5, 3, 5));
  ASSERT_OK(call("aten::index.Tensor_out",
                 {iota({2, 3}), optional_tensors({tensor(ScalarType::Int, {2}, {1, 0})}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3, 4, 5, 0, 1, 2));
}

TEST(IndexTest, AdjacentIndicesBroadcastInPlace) {
  const Value out = make_tensor(ScalarType::Float, {2, 2, 2});
  const Value list = optional_tensors({kNone, longs({2, 1}, {0, 1}), longs({2}, {0, 2})});
  ASSERT_OK(call("aten::index.Tensor_out", {iota({2, 2, 3}), list, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 2, 3, 5, 6, 8, 9, 11));
}

TEST(IndexTest, SeparatedIndicesComeFirst) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  const Value list = optional_tensors({longs({2}, {0, 1}), kNone, longs({2}, {0, 2})});
  ASSERT_OK(call("aten::index.Tensor_out", {iota({2, 2, 3}), list, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 8, 11));
}

TEST(IndexTest, EveryDtypeAndStridedOperands) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2, 2}, {1, 0});
    const Value self = strided(dtype, {3, 2}, {1, 3}, {0, 1, 2, 3, 4, 5});
    ASSERT_OK(call("aten::index.Tensor_out", {self, optional_tensors({longs({2}, {2, 0})}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(2, 5, 0, 3)) << name_of(dtype);
  }
}

TEST(IndexTest, RankZeroAndEmptyIndices) {
  const Value row = make_tensor(ScalarType::Float, {3});
  ASSERT_OK(call("aten::index.Tensor_out", {iota({2, 3}), optional_tensors({longs({}, {1})}), row, row}));
  EXPECT_THAT(row.values(), ElementsAre(3, 4, 5));
  const Value none = make_tensor(ScalarType::Float, {0, 3});
  ASSERT_OK(call("aten::index.Tensor_out", {iota({2, 3}), optional_tensors({longs({0}, {})}), none, none}));
}

TEST(IndexTest, NamesTheIndexThatIsOutOfBounds) {
  const Value out = make_tensor(ScalarType::Float, {1, 3});
  for (const std::int64_t bad : {2, -3}) {
    EXPECT_REFUSED(call("aten::index.Tensor_out", {iota({2, 3}), optional_tensors({longs({1}, {bad})}), out, out}),
                   ErrorCode::InvalidArgument, "axis 0; expected -2 to 1; found " + std::to_string(bad));
  }
}

TEST(IndexTest, RefusesMasksAndTooManyIndices) {
  const Value out = make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(accept("aten::index.Tensor_out", {iota({2}), optional_tensors({bools({2}, {1, 1})}), out, out}),
                 ErrorCode::InvalidType, "expected int32, int64; found bool [argument 1]");
  const Value index = longs({2}, {0, 1});
  EXPECT_REFUSED(accept("aten::index.Tensor_out", {iota({2}), optional_tensors({index, index}), out, out}),
                 ErrorCode::InvalidArgument, "more indices than axes");
}

TEST(IndexTest, RefusesIndicesThatDoNotBroadcast) {
  const Value out = make_tensor(ScalarType::Float, {2});
  const Value list = optional_tensors({longs({2}, {0, 1}), longs({3}, {0, 1, 2})});
  EXPECT_REFUSED(call("aten::index.Tensor_out", {iota({2, 3}), list, out, out}), ErrorCode::InvalidArgument,
                 "broadcast");
}

TEST(IndexSelectTest, PicksAlongAnAxis) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::index_select.out", {iota({2, 3}), -1, tensor(ScalarType::Int, {2}, {2, 0}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2, 0, 5, 3));
  const Value scalar = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::index_select.out", {floats({}, {7}), 0, longs({1}, {0}), scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(7));
}

TEST(IndexSelectTest, RefusesNegativeIndices) {
  const Value out = make_tensor(ScalarType::Float, {1});
  EXPECT_REFUSED(call("aten::index_select.out", {iota({3}), 0, longs({1}, {-1}), out, out}), ErrorCode::InvalidArgument,
                 "expected 0 to 2; found -1");
  EXPECT_REFUSED(accept("aten::index_select.out", {iota({3}), 0, longs({1, 1}, {0}), out, out}),
                 ErrorCode::InvalidArgument, "rank");
}

TEST(EmbeddingTest, GathersRows) {
  const Value out = make_tensor(ScalarType::Half, {2, 1, 2});
  ASSERT_OK(
      call("aten::embedding.out", {iota({3, 2}, ScalarType::Half), longs({2, 1}, {2, 0}), -1, false, false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(4, 5, 0, 1));
}

TEST(EmbeddingTest, RefusesRowsThatAreNotThere) {
  const Value out = make_tensor(ScalarType::Float, {1, 2});
  EXPECT_REFUSED(call("aten::embedding.out", {iota({3, 2}), longs({1}, {3}), -1, false, false, out, out}),
                 ErrorCode::InvalidArgument, "found 3");
}

}  // namespace
}  // namespace tandem::testing
