#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

// Expected values from PyTorch 2.15.
TEST(UpsampleNearestTest, BySize) {
  const Value out = make_tensor(ScalarType::Float, {1, 1, 3, 5});
  ASSERT_OK(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 2, 3}), ints({3, 5}), kNone, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 1, 1, 2, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5));
}

TEST(UpsampleNearestTest, ByScale) {
  const Value out = make_tensor(ScalarType::Float, {1, 1, 4, 3});
  ASSERT_OK(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 2, 3}), kNone, doubles({2.0, 1.0}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  const Value uneven = make_tensor(ScalarType::Float, {1, 1, 3, 5});
  ASSERT_OK(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 2, 3}), kNone, doubles({1.5, 1.7}), uneven, uneven}));
  EXPECT_THAT(uneven.values(), ElementsAre(0, 0, 1, 1, 2, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5));
}

TEST(UpsampleNearestTest, EveryPlaneInAnyLayoutAndDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {1, 2, 1, 2}, {0, 2, 3, 1});
    ASSERT_OK(call("aten::upsample_nearest2d.vec_out",
                   {iota({1, 2, 1, 1}, dtype, {0, 2, 3, 1}), ints({1, 2}), kNone, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0, 0, 1, 1)) << name_of(dtype);
  }
}

TEST(UpsampleNearestTest, NoImagesAreFine) {
  const Value out = make_tensor(ScalarType::Float, {0, 1, 2, 2});
  const Value none = make_tensor(ScalarType::Float, {0, 1, 1, 1});
  ASSERT_OK(call("aten::upsample_nearest2d.vec_out", {none, ints({2, 2}), kNone, out, out}));
}

TEST(UpsampleNearestTest, RefusesSizesOfZeroAndOtherCounts) {
  const Value out = make_tensor(ScalarType::Float, {1, 1, 2, 2}, {}, /*dynamic=*/true);
  EXPECT_REFUSED(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1, 1}), ints({0, 2}), kNone, out, out}),
                 ErrorCode::InvalidArgument, "above 0");
  for (const double scale : {0.0, -1.0, 1e300}) {
    EXPECT_REFUSED(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1, 1}), kNone, doubles({scale, 1}), out, out}),
                   ErrorCode::InvalidArgument, "above 0");
  }
  EXPECT_REFUSED(call("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1, 1}), ints({2}), kNone, out, out}),
                 ErrorCode::InvalidArgument, "expected 2; found 1");
}

TEST(UpsampleNearestTest, RefusesBothNeitherAndAnotherRank) {
  const Value out = make_tensor(ScalarType::Float, {1, 1, 2, 2});
  EXPECT_REFUSED(accept("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1, 1}), kNone, kNone, out, out}),
                 ErrorCode::InvalidArgument, "neither");
  EXPECT_REFUSED(
      accept("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1, 1}), ints({2, 2}), doubles({2, 2}), out, out}),
      ErrorCode::InvalidArgument, "both");
  EXPECT_REFUSED(accept("aten::upsample_nearest2d.vec_out", {iota({1, 1, 1}), ints({2, 2}), kNone, out, out}),
                 ErrorCode::InvalidArgument, "expected 4; found 3 [argument 0]");
}

}  // namespace
}  // namespace tandem::testing
