#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::Each;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(MmTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2, 2});
    ASSERT_OK(call("aten::mm.out", {iota({2, 3}, dtype), iota({3, 2}, dtype), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(10, 13, 28, 40)) << name_of(dtype);
  }
}

TEST(MmTest, EveryLayoutOfEveryOperand) {
  const std::vector<std::vector<std::uint8_t>> orders{{0, 1}, {1, 0}};
  for (const auto& a : orders) {
    for (const auto& b : orders) {
      for (const auto& c : orders) {
        const Value out = make_tensor(ScalarType::Double, {2, 2}, c);
        ASSERT_OK(
            call("aten::mm.out", {iota({2, 3}, ScalarType::Double, a), iota({3, 2}, ScalarType::Double, b), out, out}));
        EXPECT_THAT(out.values(), ElementsAre(10, 13, 28, 40)) << +a[0] << +b[0] << +c[0];
      }
    }
  }
}

TEST(MmTest, StridesThatNoMatrixHas) {
  const Value a = strided(ScalarType::Float, {2, 2}, {6, 2}, {0, -1, 1, -1, -1, -1, 2, -1, 3});
  const Value repeated = strided(ScalarType::Float, {2, 2}, {0, 1}, {1, 2});
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::mm.out", {a, repeated, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 2, 5, 10));
}

TEST(MmTest, ARowTimesAColumn) {
  const Value out = make_tensor(ScalarType::Float, {1, 1});
  const Value row = strided(ScalarType::Float, {1, 3}, {1, 1}, {1, 2, 3});
  const Value column = strided(ScalarType::Float, {3, 1}, {1, 1}, {4, 5, 6});
  ASSERT_OK(call("aten::mm.out", {row, column, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(32));
}

TEST(MmTest, NothingToAddIsZero) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(
      call("aten::mm.out", {make_tensor(ScalarType::Float, {2, 0}), make_tensor(ScalarType::Float, {0, 2}), out, out}));
  EXPECT_THAT(out.values(), Each(0));
  const Value empty = make_tensor(ScalarType::Float, {0, 2});
  ASSERT_OK(call("aten::mm.out", {make_tensor(ScalarType::Float, {0, 3}), iota({3, 2}), empty, empty}));
}

TEST(MmTest, HalfAddsInFloatAndRoundsOnce) {
  const Value out = make_tensor(ScalarType::Half, {1, 1});
  const Value a = tensor(ScalarType::Half, {1, 3}, {2048, 1, 1});
  const Value b = tensor(ScalarType::Half, {3, 1}, {1, 1, 1});
  ASSERT_OK(call("aten::mm.out", {a, b, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(2050));
}

TEST(MmTest, IntegersWrap) {
  const Value out = make_tensor(ScalarType::Char, {1, 1});
  ASSERT_OK(
      call("aten::mm.out", {tensor(ScalarType::Char, {1, 1}, {100}), tensor(ScalarType::Char, {1, 1}, {3}), out, out}));
  EXPECT_THAT(out.values(), ElementsAre(44));
}

TEST(MmTest, RefusesMatricesThatDoNotFit) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  EXPECT_REFUSED(call("aten::mm.out", {iota({2, 3}), iota({2, 2}), out, out}), ErrorCode::InvalidArgument,
                 "expected [2, 3]; found [2, 2]");
  EXPECT_REFUSED(accept("aten::mm.out", {iota({2, 3}), iota({3, 2}, ScalarType::Double), out, out}),
                 ErrorCode::InvalidType, "argument 1");
  EXPECT_REFUSED(accept("aten::mm.out", {iota({2}), iota({3, 2}), out, out}), ErrorCode::InvalidArgument, "rank");
  const Value flags = make_tensor(ScalarType::Bool, {2, 2});
  EXPECT_REFUSED(accept("aten::mm.out", {flags, flags, flags, flags}), ErrorCode::InvalidType, "found bool");
}

TEST(AddmmTest, EveryDtypeAddsTheBroadcastTensor) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2, 2});
    const Value bias = tensor(dtype, {2}, {1, 2});
    ASSERT_OK(call("aten::addmm.out", {bias, iota({2, 3}, dtype), iota({3, 2}, dtype), 1, 1, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(11, 15, 29, 42)) << name_of(dtype);
    ASSERT_OK(call("aten::addmm.out", {bias, iota({2, 3}, dtype), iota({3, 2}, dtype), 3, 2, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(23, 32, 59, 86)) << name_of(dtype);
  }
}

TEST(AddmmTest, FactorsOfZeroSwitchNanOff) {
  const Value nan = floats({2, 2}, {kNan, kNan, kNan, kNan});
  const Value ones = floats({2, 2}, {1, 1, 1, 1});
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::addmm.out", {nan, ones, ones, 0, 1, out, out}));
  EXPECT_THAT(out.values(), Each(2));
  ASSERT_OK(call("aten::addmm.out", {ones, nan, ones, 1, 0, out, out}));
  EXPECT_THAT(out.values(), Each(1));
}

TEST(AddmmTest, NothingToMultiplyLeavesTheTensor) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  ASSERT_OK(call("aten::addmm.out", {iota({2, 1}), make_tensor(ScalarType::Float, {2, 0}),
                                     make_tensor(ScalarType::Float, {0, 2}), 2, 1, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 2, 2));
}

TEST(AddmmTest, RefusesATensorThatDoesNotBroadcast) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  EXPECT_REFUSED(call("aten::addmm.out", {iota({3}), iota({2, 2}), iota({2, 2}), 1, 1, out, out}),
                 ErrorCode::InvalidArgument, "expected [2, 2]; found [3]");
  EXPECT_REFUSED(call("aten::addmm.out", {iota({2, 2}), iota({1, 2}), iota({2, 2}), 1, 1, out, out}),
                 ErrorCode::InvalidArgument, "expected [1, 2]; found [2, 2] [argument 0]");
  EXPECT_REFUSED(accept("aten::addmm.out", {iota({1, 2, 2}), iota({2, 2}), iota({2, 2}), 1, 1, out, out}),
                 ErrorCode::InvalidArgument, "at most 2");
}

TEST(BmmTest, EveryMatrixOfTheBatch) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2, 1, 1});
    ASSERT_OK(call("aten::bmm.out", {iota({2, 1, 2}, dtype), iota({2, 2, 1}, dtype), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 13)) << name_of(dtype);
  }
}

TEST(BmmTest, RefusesAnotherBatch) {
  const Value out = make_tensor(ScalarType::Float, {2, 1, 1});
  EXPECT_REFUSED(call("aten::bmm.out", {iota({2, 1, 2}), iota({3, 2, 1}), out, out}), ErrorCode::InvalidArgument,
                 "expected [2, 1, 2]; found [3, 2, 1]");
}

}  // namespace
}  // namespace tandem::testing
