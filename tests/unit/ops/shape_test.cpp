#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::ElementsAreArray;

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

TEST(PermuteTest, MovesAxes) {
  const Value out = make_tensor(ScalarType::Float, {3, 2});
  ASSERT_OK(call("aten::permute_copy.out", {iota({2, 3}), ints({1, 0}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(PermuteTest, EveryDtypeThatCanBeMoved) {
  for (const ScalarType dtype :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Half,
        ScalarType::BFloat16, ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::UInt16,
        ScalarType::UInt32, ScalarType::UInt64, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    const Value self = make_tensor(dtype, {2, 3});
    auto* from = static_cast<std::uint8_t*>(self.tensor().data);
    const std::size_t bytes = item_bytes(dtype);
    for (std::size_t i = 0; i < 6 * bytes; ++i) from[i] = static_cast<std::uint8_t>(i);
    const Value out = make_tensor(dtype, {3, 2});
    ASSERT_OK(call("aten::permute_copy.out", {self, ints({-1, 0}), out, out}));
    const auto* to = static_cast<const std::uint8_t*>(out.tensor().data);
    EXPECT_EQ(to[bytes], 3 * bytes) << name_of(dtype);  // element [0, 1] of out is [1, 0] of self
  }
}

TEST(PermuteTest, RefusesWhatIsNoPermutation) {
  const Value out = make_tensor(ScalarType::Float, {2, 3});
  EXPECT_REFUSED(call("aten::permute_copy.out", {iota({2, 3}), ints({0, 0}), out, out}), ErrorCode::InvalidArgument,
                 "twice");
  EXPECT_REFUSED(call("aten::permute_copy.out", {iota({2, 3}), ints({0}), out, out}), ErrorCode::InvalidArgument,
                 "expected 2; found 1");
  EXPECT_REFUSED(call("aten::permute_copy.out", {iota({2, 3}), ints({0, 2}), out, out}), ErrorCode::InvalidArgument,
                 "expected -2 to 1; found 2");
}

TEST(PermuteTest, RefusesAnotherDtype) {
  const Value out = make_tensor(ScalarType::Double, {3, 2});
  EXPECT_REFUSED(accept("aten::permute_copy.out", {iota({2, 3}), ints({1, 0}), out, out}), ErrorCode::InvalidType,
                 "expected float32; found float64 [argument 2]");
}

TEST(TransposeTest, SwapsTwoAxes) {
  const Value out = make_tensor(ScalarType::Float, {1, 3, 2});
  ASSERT_OK(call("aten::transpose_copy.int_out", {iota({1, 2, 3}), 1, -1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(TTest, TransposesMatricesAndCopiesTheRest) {
  const Value out = make_tensor(ScalarType::Float, {3, 2});
  ASSERT_OK(call("aten::t_copy.out", {iota({2, 3}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 1, 4, 2, 5));
  const Value vector = make_tensor(ScalarType::Float, {3});
  ASSERT_OK(call("aten::t_copy.out", {iota({3}), vector, vector}));
  EXPECT_THAT(vector.values(), ElementsAre(0, 1, 2));
  const Value cube = make_tensor(ScalarType::Float, {1, 1, 1});
  EXPECT_REFUSED(accept("aten::t_copy.out", {cube, cube, cube}), ErrorCode::InvalidArgument, "at most 2");
}

TEST(UnsqueezeTest, AddsAnAxisAnywhere) {
  const Value out = make_tensor(ScalarType::Float, {2, 1, 3});
  ASSERT_OK(call("aten::unsqueeze_copy.out", {iota({2, 3}), 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5));
  const Value last = make_tensor(ScalarType::Float, {1});
  ASSERT_OK(call("aten::unsqueeze_copy.out", {iota({}), -1, last, last}));
  EXPECT_REFUSED(call("aten::unsqueeze_copy.out", {iota({2, 3}), 3, out, out}), ErrorCode::InvalidArgument,
                 "expected -3 to 2; found 3");
}

TEST(SqueezeTest, DropsOnlyAxesOfSizeOne) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::squeeze_copy.dim_out", {iota({1, 2}), 0, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1));
  ASSERT_OK(call("aten::squeeze_copy.dim_out", {iota({2}), 0, out, out}));
  ASSERT_OK(call("aten::squeeze_copy.dims_out", {iota({1, 2, 1}), ints({0, 1, -1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1));
  EXPECT_REFUSED(call("aten::squeeze_copy.dims_out", {iota({1, 2, 1}), ints({0, 0}), out, out}),
                 ErrorCode::InvalidArgument, "twice");
}

TEST(ExpandTest, RepeatsAxesOfSizeOne) {
  const Value out = make_tensor(ScalarType::Float, {2, 2, 3});
  ASSERT_OK(call("aten::expand_copy.out", {iota({2, 1}), ints({2, -1, 3}), false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
}

TEST(ExpandTest, RefusesWhatDoesNotStretch) {
  const Value out = make_tensor(ScalarType::Float, {2, 3});
  for (const Value& size : {ints({2, 4}), ints({-1, 3}), ints({})}) {
    EXPECT_REFUSED(call("aten::expand_copy.out", {iota({3}), size, false, out, out}), ErrorCode::InvalidArgument,
                   "[3]");
  }
}

TEST(SelectTest, TakesOneSlice) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::select_copy.int_out", {iota({2, 3}), 1, 2, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2, 5));
  ASSERT_OK(call("aten::select_copy.int_out", {iota({2, 3}), -1, -3, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3));
}

TEST(SelectTest, RefusesAnIndexOutOfBounds) {
  const Value out = make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(call("aten::select_copy.int_out", {iota({2, 3}), 1, 3, out, out}), ErrorCode::InvalidArgument,
                 "axis 1; expected -3 to 2; found 3");
  EXPECT_REFUSED(call("aten::select_copy.int_out", {iota({2, 3}), 1, kMin, out, out}), ErrorCode::InvalidArgument,
                 "found -9223372036854775808");
}

TEST(SelectTest, RefusesRankZero) {
  const Value out = make_tensor(ScalarType::Float, {});
  EXPECT_REFUSED(accept("aten::select_copy.int_out", {iota({}), 0, 0, out, out}), ErrorCode::InvalidArgument, "rank 0");
}

struct Slice {
  Value start, end, step;
  std::vector<double> expected;  // of 0, 1, 2, 3, 4
};

TEST(SliceTest, BoundsAreCutAsInPython) {
  const Slice cases[] = {{1, 4, 1, {1, 2, 3}},   {kNone, kNone, 2, {0, 2, 4}},     {-2, kNone, 1, {3, 4}},
                         {kNone, -3, 1, {0, 1}}, {-100, 100, 3, {0, 3}},           {4, 2, 1, {}},
                         {0, kMax, kMax, {0}},   {kMin, kMax, 1, {0, 1, 2, 3, 4}}, {5, 5, 1, {}}};
  for (const auto& [start, end, step, expected] : cases) {
    const Value out = make_tensor(ScalarType::Float, {5}, {}, /*dynamic=*/true);
    ASSERT_OK(call("aten::slice_copy.Tensor_out", {iota({5}), 0, start, end, step, out, out}));
    EXPECT_THAT(out.values(), ElementsAreArray(expected));
  }
}

TEST(SliceTest, CutsTheNamedAxisOfAView) {
  const Value out = make_tensor(ScalarType::Float, {3, 1});
  const Value view = strided(ScalarType::Float, {3, 2}, {1, 3}, {0, 1, 2, 3, 4, 5});
  ASSERT_OK(call("aten::slice_copy.Tensor_out", {view, -1, 1, kNone, 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3, 4, 5));
}

TEST(SliceTest, RefusesStepsThatAreNotPositive) {
  const Value out = make_tensor(ScalarType::Float, {5});
  for (const int step : {0, -1}) {
    EXPECT_REFUSED(call("aten::slice_copy.Tensor_out", {iota({5}), 0, kNone, kNone, step, out, out}),
                   ErrorCode::InvalidArgument, "step");
  }
}

TEST(ViewCopyTest, KeepsTheRowMajorOrder) {
  const Value out = make_tensor(ScalarType::Float, {3, 2});
  ASSERT_OK(call("aten::view_copy.out", {iota({2, 3}), ints({3, -1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ViewCopyTest, ReadsAndWritesThroughStrides) {
  const Value out = make_tensor(ScalarType::Float, {6}, {}, /*dynamic=*/true);
  const Value view = strided(ScalarType::Float, {3, 2}, {1, 3}, {0, 1, 2, 3, 4, 5});
  ASSERT_OK(call("aten::view_copy.out", {view, ints({-1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 3, 1, 4, 2, 5));
  const Value columns = make_tensor(ScalarType::Float, {2, 3}, {1, 0});
  ASSERT_OK(call("aten::view_copy.out", {view, ints({2, 3}), columns, columns}));
  EXPECT_THAT(columns.values(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(ViewCopyTest, RefusesAnotherNumberOfElements) {
  const Value out = make_tensor(ScalarType::Float, {4}, {}, /*dynamic=*/true);
  EXPECT_REFUSED(call("aten::view_copy.out", {iota({2, 3}), ints({4}), out, out}), ErrorCode::InvalidArgument,
                 "expected 6 elements; found [4]");
}

TEST(ViewCopyTest, EmptyAndRankZero) {
  const Value empty = make_tensor(ScalarType::Float, {0, 4});
  ASSERT_OK(call("aten::view_copy.out", {make_tensor(ScalarType::Float, {2, 0}), ints({0, 4}), empty, empty}));
  const Value scalar = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::view_copy.out", {floats({1, 1}, {7}), ints({}), scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(7));
}

TEST(ViewCopyTest, RefusesAListThatIsTooLong) {
  const Value out = make_tensor(ScalarType::Float, {1});
  EXPECT_REFUSED(call("aten::view_copy.out", {iota({1}), ints(std::vector<Value>(17, Value{1})), out, out}),
                 ErrorCode::InvalidArgument, "expected at most 16; found 17");
}

TEST(ViewCopyTest, RefusesComputedEntriesThatAreNoIntegers) {
  const Value entry = 1;
  const Value out = make_tensor(ScalarType::Float, {1});
  const std::vector<Value> arguments{iota({1}), ints({entry}), out, out};
  entry.argument().kind = Argument::Kind::Double;
  EXPECT_REFUSED(run("aten::view_copy.out", arguments), ErrorCode::InvalidType, "found double [argument 1]");
}

TEST(RepeatTest, TilesEveryAxis) {
  const Value out = make_tensor(ScalarType::Float, {2, 4});
  ASSERT_OK(call("aten::repeat.out", {iota({2}), ints({2, 2}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  const Value empty = make_tensor(ScalarType::Float, {0});
  ASSERT_OK(call("aten::repeat.out", {iota({2}), ints({0}), empty, empty}));
}

TEST(RepeatTest, RefusesTooFewNegativeAndHugeRepeats) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  EXPECT_REFUSED(call("aten::repeat.out", {iota({2, 2}), ints({2}), out, out}), ErrorCode::InvalidArgument, "fewer");
  EXPECT_REFUSED(call("aten::repeat.out", {iota({2, 2}), ints({1, -1}), out, out}), ErrorCode::InvalidArgument, "-1");
  EXPECT_REFUSED(call("aten::repeat.out", {iota({2, 2}), ints({1, kMax}), out, out}), ErrorCode::InvalidArgument,
                 "repeats");
}

}  // namespace
}  // namespace tandem::testing
