#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

const std::vector<std::uint8_t> kChannelsLast{0, 2, 3, 1};

TEST(DeviceCopyTest, CopiesTaggedTensorsOnTheHost) {
  for (const char* name : {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"}) {
    const Value out = make_tensor(ScalarType::Float, {4, 3}, {}, /*dynamic=*/true);
    out.tensor().device = {DeviceType::Cuda, 0};
    ASSERT_OK(call(name, {iota({2, 3}), out, out}));
    EXPECT_THAT(out.sizes(), ElementsAre(2, 3)) << name;
    EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5)) << name;
  }
}

TEST(DeviceCopyTest, EmptyTensorsNeedNoMemory) {
  const Value out = make_tensor(ScalarType::Float, {0, 3});
  ASSERT_OK(call("et_copy::_h2d_copy.out", {make_tensor(ScalarType::Float, {0, 3}), out, out}));
}

TEST(DeviceCopyTest, MovesTypesWithoutArithmetic) {
  const Value from = make_tensor(ScalarType::ComplexFloat, {1});
  static_cast<float*>(from.tensor().data)[0] = 1;
  static_cast<float*>(from.tensor().data)[1] = 2;
  const Value out = make_tensor(ScalarType::ComplexFloat, {1});
  ASSERT_OK(call("et_copy::_d2h_copy.out", {from, out, out}));
  EXPECT_THAT(std::span(static_cast<float*>(out.tensor().data), 2), ElementsAre(1, 2));
}

TEST(DeviceCopyTest, RefusesAnotherDtype) {
  const Value out = make_tensor(ScalarType::Double, {2});
  EXPECT_REFUSED(accept("et_copy::_h2d_copy.out", {iota({2}), out, out}), ErrorCode::InvalidType,
                 "expected float32; found float64 [argument 1]");
}

TEST(DeviceCopyTest, RefusesMoreAxesThanAViewHolds) {
  const Value deep = make_tensor(ScalarType::Float, std::vector<std::int64_t>(17, 1));
  EXPECT_REFUSED(accept("et_copy::_h2d_copy.out", {deep, deep, deep}), ErrorCode::NotSupported,
                 "expected at most 16; found 17 [argument 0]");
}

TEST(CloneTest, EveryPlainCopyCopies) {
  for (const char* name : {"aten::alias_copy.out", "aten::detach_copy.out"}) {
    const Value out = make_tensor(ScalarType::Short, {3});
    ASSERT_OK(call(name, {iota({3}, ScalarType::Short), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0, 1, 2)) << name;
  }
  const Value out = make_tensor(ScalarType::Bool, {2});
  ASSERT_OK(call("aten::clone.out", {bools({2}, {1, 0}), kNone, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 0));
}

TEST(CloneTest, ThePlannedLayoutDecides) {
  const Value out = make_tensor(ScalarType::Float, {1, 2, 2, 2}, kChannelsLast);
  ASSERT_OK(call("aten::clone.out", {iota({1, 2, 2, 2}), 2, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(std::span(static_cast<float*>(out.tensor().data), 4), ElementsAre(0, 4, 1, 5));
}

TEST(ToCopyTest, ConvertsBetweenAllDtypes) {
  for (const ScalarType from : kNumberTypes) {
    for (const ScalarType to : kNumberTypes) {
      const Value out = make_tensor(to, {3});
      ASSERT_OK(call("aten::_to_copy.out", {tensor(from, {3}, {0, 1, 100}), false, kNone, out, out}));
      EXPECT_THAT(out.values(), ElementsAre(0, 1, 100)) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(ToCopyTest, FloatsBecomeBoolsAndIntegers) {
  const Value flags = make_tensor(ScalarType::Bool, {3});
  ASSERT_OK(call("aten::_to_copy.out", {floats({3}, {0, 0.25, -1}), false, kNone, flags, flags}));
  EXPECT_THAT(flags.values(), ElementsAre(0, 1, 1));
  const Value numbers = make_tensor(ScalarType::Int, {2});
  ASSERT_OK(call("aten::_to_copy.out", {floats({2}, {-1.9F, 3e9F}), false, kNone, numbers, numbers}));
  EXPECT_THAT(numbers.values(), ElementsAre(-1, std::numeric_limits<std::int32_t>::min()));
}

TEST(ToCopyTest, RefusesConversionsThatDoNotExist) {
  const Value out = make_tensor(ScalarType::ComplexFloat, {2});
  EXPECT_REFUSED(accept("aten::_to_copy.out", {iota({2}), false, kNone, out, out}), ErrorCode::InvalidType,
                 "expected complex64; found float32 [argument 0]");
}

TEST(ToDimOrderTest, ConvertsDtypeAndLayout) {
  const Value out = make_tensor(ScalarType::Double, {1, 2, 2, 2}, kChannelsLast);
  ASSERT_OK(call("dim_order_ops::_to_dim_order_copy.out", {iota({1, 2, 2, 2}), false, ints({0, 2, 3, 1}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(std::span(static_cast<double*>(out.tensor().data), 4), ElementsAre(0, 4, 1, 5));
}

TEST(ToDimOrderTest, RankZeroWithAnEmptyOrder) {
  const Value out = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("dim_order_ops::_to_dim_order_copy.out", {longs({}, {3}), false, ints({}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(3));
}

TEST(ToDimOrderTest, NoOrderTakesThePlannedOne) {
  const Value out = make_tensor(ScalarType::Float, {2, 2}, {1, 0});
  ASSERT_OK(call("dim_order_ops::_to_dim_order_copy.out", {iota({2, 2}), false, kNone, out, out}));
  EXPECT_THAT(std::span(static_cast<float*>(out.tensor().data), 4), ElementsAre(0, 2, 1, 3));
}

TEST(ToDimOrderTest, RefusesAnOrderOtherThanThePlanned) {
  const Value out = make_tensor(ScalarType::Float, {1, 2, 2, 2});
  for (const char* name : {"dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out"}) {
    EXPECT_REFUSED(accept(name, {iota({1, 2, 2, 2}), false, ints({0, 2, 3, 1}), out, out}), ErrorCode::NotSupported,
                   "expected [0, 1, 2, 3]; found [0, 2, 3, 1] [argument 2]");
  }
}

TEST(CloneDimOrderTest, CopiesButDoesNotConvert) {
  const Value out = make_tensor(ScalarType::Float, {2, 2}, {1, 0});
  ASSERT_OK(call("dim_order_ops::_clone_dim_order.out", {iota({2, 2}), false, ints({1, 0}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 1, 2, 3));
  const Value other = make_tensor(ScalarType::Double, {2, 2});
  EXPECT_REFUSED(accept("dim_order_ops::_clone_dim_order.out", {iota({2, 2}), false, kNone, other, other}),
                 ErrorCode::InvalidType, "float64");
}

TEST(EmptyDimOrderTest, SetsOnlyTheSize) {
  const Value out = make_tensor(ScalarType::Float, {4, 2}, {1, 0}, /*dynamic=*/true);
  ASSERT_OK(call("dim_order_ops::_empty_dim_order.out", {ints({3, 2}), ints({1, 0}), out, out}));
  EXPECT_THAT(out.sizes(), ElementsAre(3, 2));
  EXPECT_THAT(out.strides(), ElementsAre(1, 3));
}

TEST(CopyInPlaceTest, OverwritesTheDestination) {
  const Value buffer = iota({2, 2});
  ASSERT_OK(call("aten::copy_", {buffer, floats({2, 2}, {9, 8, 7, 6}), false, buffer}));
  EXPECT_THAT(buffer.values(), ElementsAre(9, 8, 7, 6));
}

TEST(CopyInPlaceTest, BroadcastsAndConverts) {
  const Value buffer = iota({2, 2}, ScalarType::Half);
  ASSERT_OK(call("aten::copy_", {buffer, longs({2, 1}, {5, 6}), false, buffer}));
  EXPECT_THAT(buffer.values(), ElementsAre(5, 5, 6, 6));
}

TEST(CopyInPlaceTest, RefusesASourceThatIsLarger) {
  const Value buffer = iota({1, 2});
  EXPECT_REFUSED(call("aten::copy_", {buffer, iota({2, 2}), false, buffer}), ErrorCode::InvalidArgument,
                 "expected [1, 2]; found [2, 2]");
}

TEST(CopyTest, TakesSizesFromSelfAndElementsFromTheSource) {
  const Value out = make_tensor(ScalarType::Float, {4, 2}, {}, /*dynamic=*/true);
  const Value self = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::copy.out", {self, longs({2}, {1, 2}), false, out, out}));
  EXPECT_THAT(out.sizes(), ElementsAre(2, 2));
  EXPECT_THAT(out.values(), ElementsAre(1, 2, 1, 2));
}

}  // namespace
}  // namespace tandem::testing
