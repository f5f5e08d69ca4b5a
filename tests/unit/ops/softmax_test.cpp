#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::Each;
using ::testing::IsNan;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Expected values from PyTorch 2.15, float64.
TEST(SoftmaxTest, EveryFloatAlongRows) {
  const double expected[] = {0.0900305731703804, 0.2447284710547976, 0.6652409557748218,
                             0.2689414213699952, 0.7310585786300049, 0};
  const double expected_log[] = {-2.4076059644443806, -1.4076059644443804, -0.4076059644443804,
                                 -1.3132616875182228, -0.3132616875182229, -kInfinity};
  const double tolerances[] = {1e-3, 1e-2, 1e-6, 1e-14};
  for (std::size_t t = 0; t < 4; ++t) {
    const Value self = tensor(kFloatTypes[t], {2, 3}, {1, 2, 3, -1, 0, -kInfinity});
    const Value out = make_tensor(kFloatTypes[t], {2, 3});
    ASSERT_OK(call("aten::_softmax.out", {self, -1, false, out, out}));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out.values()[i], expected[i], tolerances[t]);
    ASSERT_OK(call("aten::_log_softmax.out", {self, 1, false, out, out}));
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(out.values()[i], expected_log[i], 2.5 * tolerances[t]);
    EXPECT_EQ(out.values()[5], -kInfinity);
  }
}

TEST(SoftmaxTest, AnyAxisOfAnyLayout) {
  const Value self = tensor(ScalarType::Float, {2, 2}, {1, 2, -1, 0}, {1, 0});
  const Value out = make_tensor(ScalarType::Float, {2, 2}, {1, 0});
  ASSERT_OK(call("aten::_softmax.out", {self, 0, false, out, out}));
  EXPECT_NEAR(out.values()[0], 0.8807970779778823, 1e-6);
  EXPECT_NEAR(out.values()[3], 0.1192029220221175, 1e-6);
}

TEST(SoftmaxTest, LargeNumbersDoNotOverflow) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::_softmax.out", {floats({2}, {1e30, 1e30}), 0, false, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(0.5, 0.5));
}

TEST(SoftmaxTest, NoFiniteElementIsNan) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::_softmax.out", {floats({2}, {-kInfinity, -kInfinity}), 0, false, out, out}));
  EXPECT_THAT(out.values(), Each(IsNan()));
  ASSERT_OK(call("aten::_softmax.out", {floats({2}, {0, std::nan("")}), 0, false, out, out}));
  EXPECT_THAT(out.values(), Each(IsNan()));
}

TEST(SoftmaxTest, EmptyAndRankZero) {
  const Value scalar = make_tensor(ScalarType::Float, {});
  ASSERT_OK(call("aten::_softmax.out", {floats({}, {5}), 0, false, scalar, scalar}));
  EXPECT_THAT(scalar.values(), ElementsAre(1));
  const Value empty = make_tensor(ScalarType::Float, {2, 0});
  ASSERT_OK(call("aten::_softmax.out", {make_tensor(ScalarType::Float, {2, 0}), 1, false, empty, empty}));
}

TEST(SoftmaxTest, RefusesIntegersWideningAndBadAxes) {
  const Value out = make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(accept("aten::_softmax.out", {longs({2}, {1, 2}), 0, false, out, out}), ErrorCode::InvalidType,
                 "found int64 [argument 0]");
  EXPECT_REFUSED(accept("aten::_softmax.out", {iota({2}), 0, true, out, out}), ErrorCode::NotSupported,
                 "half_to_float");
  EXPECT_REFUSED(call("aten::_softmax.out", {iota({2}), 1, false, out, out}), ErrorCode::InvalidArgument,
                 "expected -1 to 0; found 1");
}

}  // namespace
}  // namespace tandem::testing
