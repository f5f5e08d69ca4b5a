#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

TEST(CatTest, JoinsAlongAnyAxis) {
  const Value columns = make_tensor(ScalarType::Float, {2, 3});
  ASSERT_OK(call("aten::cat.out", {tensors({iota({2, 2}), floats({2, 1}, {8, 9})}), -1, columns, columns}));
  EXPECT_THAT(columns.values(), ElementsAre(0, 1, 8, 2, 3, 9));
  const Value rows = make_tensor(ScalarType::Float, {3, 2}, {1, 0});
  ASSERT_OK(call("aten::cat.out", {tensors({iota({2, 2}), floats({1, 2}, {8, 9})}), 0, rows, rows}));
  EXPECT_THAT(rows.values(), ElementsAre(0, 1, 2, 3, 8, 9));
}

TEST(CatTest, PromotesDtypes) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::cat.out", {tensors({longs({1}, {3}), floats({1}, {0.5})}), 0, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3, 0.5));
}

TEST(CatTest, SkipsEmptyVectors) {
  const Value out = make_tensor(ScalarType::Float, {1, 2});
  const Value nothing = make_tensor(ScalarType::Float, {0});
  ASSERT_OK(call("aten::cat.out", {tensors({nothing, iota({1, 2}), nothing}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1));
  const Value empty = make_tensor(ScalarType::Float, {0});
  ASSERT_OK(call("aten::cat.out", {tensors({nothing, nothing}), 0, empty, empty}));
}

TEST(CatTest, NamesTheTensorThatDoesNotFit) {
  const Value out = make_tensor(ScalarType::Float, {4, 2});
  EXPECT_REFUSED(call("aten::cat.out", {tensors({iota({2, 2}), iota({2, 3})}), 0, out, out}),
                 ErrorCode::InvalidArgument, "tensor 1 of the list");
  EXPECT_REFUSED(call("aten::cat.out", {tensors({iota({2, 2}), iota({2})}), 0, out, out}), ErrorCode::InvalidArgument,
                 "expected 2; found 1");
  EXPECT_REFUSED(call("aten::cat.out", {tensors({iota({})}), 0, out, out}), ErrorCode::InvalidArgument, "no axes");
  EXPECT_REFUSED(call("aten::cat.out", {tensors({iota({2, 2})}), 2, out, out}), ErrorCode::InvalidArgument, "axis");
}

TEST(CatTest, RefusesAtLoadWhatCannotBeJoined) {
  const Value out = make_tensor(ScalarType::Long, {2});
  EXPECT_REFUSED(accept("aten::cat.out", {tensors({}), 0, out, out}), ErrorCode::InvalidArgument, "empty");
  EXPECT_REFUSED(accept("aten::cat.out", {tensors({longs({1}, {1}), iota({1})}), 0, out, out}), ErrorCode::InvalidType,
                 "expected float32; found int64 [argument 2]");
  const Value complex = make_tensor(ScalarType::ComplexFloat, {1});
  EXPECT_REFUSED(accept("aten::cat.out", {tensors({complex}), 0, out, out}), ErrorCode::InvalidType, "complex64");
  const Value with_none = optional_tensors({iota({1}), kNone});
  EXPECT_REFUSED(accept("aten::cat.out", {with_none, 0, out, out}), ErrorCode::InvalidType, "optional");
}

TEST(StackTest, AddsAnAxis) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::stack.out", {tensors({iota({2}), floats({2}, {8, 9})}), -1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 8, 1, 9));
  ASSERT_OK(call("aten::stack.out", {tensors({iota({2}), floats({2}, {8, 9})}), 0, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 8, 9));
}

TEST(StackTest, RefusesUnequalSizes) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  EXPECT_REFUSED(call("aten::stack.out", {tensors({iota({2}), iota({1})}), 0, out, out}), ErrorCode::InvalidArgument,
                 "tensor 1 of the list has another size; expected [2]; found [1]");
}

TEST(SplitTest, CutsIntoTheGivenSizes) {
  const Value a = make_tensor(ScalarType::Float, {2, 1});
  const Value b = make_tensor(ScalarType::Float, {2, 2});
  const Value c = make_tensor(ScalarType::Float, {2, 0});
  const Value outs = tensors({a, b, c});
  ASSERT_OK(call("aten::split_with_sizes_copy.out", {iota({2, 3}), ints({1, 2, 0}), 1, outs, outs}));
  EXPECT_THAT(a.values(), ElementsAre(0, 3));
  EXPECT_THAT(b.values(), ElementsAre(1, 2, 4, 5));
}

TEST(SplitTest, RefusesSizesThatDoNotAddUp) {
  const Value outs = tensors({make_tensor(ScalarType::Float, {2}), make_tensor(ScalarType::Float, {2})});
  for (const Value& sizes : {ints({2, 2}), ints({-1, 6}), ints({std::numeric_limits<std::int64_t>::max(), 2})}) {
    EXPECT_REFUSED(call("aten::split_with_sizes_copy.out", {iota({5}), sizes, 0, outs, outs}),
                   ErrorCode::InvalidArgument, "");
  }
}

TEST(SplitTest, RefusesAnotherNumberOfResults) {
  const Value outs = tensors({make_tensor(ScalarType::Float, {2})});
  EXPECT_REFUSED(call("aten::split_with_sizes_copy.out", {iota({4}), ints({2, 2}), 0, outs, outs}),
                 ErrorCode::InvalidArgument, "expected 2; found 1 [argument 3]");
}

}  // namespace
}  // namespace tandem::testing
