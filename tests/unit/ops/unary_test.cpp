#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NegateTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {2});
    ASSERT_OK(call("aten::neg.out", {tensor(dtype, {2}, {0, 3}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0, dtype == ScalarType::Byte ? 253 : -3)) << name_of(dtype);
  }
}

TEST(NegateTest, TheLowestIntegerStays) {
  const Value lowest = longs({1}, {std::numeric_limits<std::int64_t>::min()});
  const Value out = make_tensor(ScalarType::Long, {1});
  ASSERT_OK(call("aten::neg.out", {lowest, out, out}));
  EXPECT_EQ(out.integers(), lowest.integers());
  ASSERT_OK(call("aten::abs.out", {lowest, out, out}));
  EXPECT_EQ(out.integers(), lowest.integers());
}

TEST(NegateTest, ZeroGetsItsSign) {
  const Value out = make_tensor(ScalarType::Float, {1});
  ASSERT_OK(call("aten::neg.out", {floats({1}, {0}), out, out}));
  EXPECT_TRUE(std::signbit(out.values()[0]));
}

TEST(NegateTest, RefusesBools) {
  const Value out = make_tensor(ScalarType::Bool, {1});
  for (const char* name : {"aten::neg.out", "aten::abs.out", "aten::relu.out"}) {
    EXPECT_REFUSED(accept(name, {bools({1}, {1}), out, out}), ErrorCode::InvalidType, "found bool [argument 0]");
  }
}

TEST(AbsoluteTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    if (dtype == ScalarType::Byte) continue;
    const Value out = make_tensor(dtype, {3});
    ASSERT_OK(call("aten::abs.out", {tensor(dtype, {3}, {-2, 0, 3}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(2, 0, 3)) << name_of(dtype);
  }
}

TEST(ReluTest, EveryDtype) {
  for (const ScalarType dtype : kNumberTypes) {
    if (dtype == ScalarType::Byte) continue;
    const Value out = make_tensor(dtype, {3});
    ASSERT_OK(call("aten::relu.out", {tensor(dtype, {3}, {-2, 0, 3}), out, out}));
    EXPECT_THAT(out.values(), ElementsAre(0, 0, 3)) << name_of(dtype);
  }
}

TEST(ReluTest, NanStays) {
  const Value out = make_tensor(ScalarType::Float, {1});
  ASSERT_OK(call("aten::relu.out", {floats({1}, {kNan}), out, out}));
  EXPECT_THAT(out.values(), Each(IsNan()));
}

struct FloatFunction {
  const char* name;
  double (*reference)(double);
};
const FloatFunction kFunctions[] = {
    {"aten::sqrt.out", [](double a) { return std::sqrt(a); }},
    {"aten::rsqrt.out", [](double a) { return 1 / std::sqrt(a); }},
    {"aten::reciprocal.out", [](double a) { return 1 / a; }},
    {"aten::exp.out", [](double a) { return std::exp(a); }},
    {"aten::log.out", [](double a) { return std::log(a); }},
    {"aten::sin.out", [](double a) { return std::sin(a); }},
    {"aten::cos.out", [](double a) { return std::cos(a); }},
    {"aten::tanh.out", [](double a) { return std::tanh(a); }},
    {"aten::sigmoid.out", [](double a) { return 1 / (1 + std::exp(-a)); }},
};

// Relative spacing of the numbers of a dtype.
double spacing(ScalarType dtype) {
  if (dtype == ScalarType::Half) return 0x1p-10;
  if (dtype == ScalarType::BFloat16) return 0x1p-7;
  return dtype == ScalarType::Float ? 0x1p-23 : 0x1p-52;
}

TEST(FloatFunctionTest, EveryFloatWithinTwoPlaces) {
  for (const auto& [name, reference] : kFunctions) {
    for (const ScalarType dtype : kFloatTypes) {
      const Value out = make_tensor(dtype, {3});
      ASSERT_OK(call(name, {tensor(dtype, {3}, {0.25, 1, 2.5}), out, out}));
      const std::vector<double> results = out.values();
      for (std::size_t i = 0; i < 3; ++i) {
        const double expected = reference(std::vector{0.25, 1.0, 2.5}[i]);
        EXPECT_NEAR(results[i], expected, 2 * spacing(dtype) * std::fabs(expected)) << name << " " << name_of(dtype);
      }
    }
  }
}

TEST(FloatFunctionTest, IntegersAndBoolsBecomeFloat) {
  for (const auto& [name, reference] : kFunctions) {
    const Value out = make_tensor(ScalarType::Float, {1});
    for (const ScalarType dtype : kIntegerTypes) {
      ASSERT_OK(call(name, {tensor(dtype, {1}, {4}), out, out}));
      EXPECT_NEAR(out.values()[0], reference(4), 1e-6 * std::fabs(reference(4))) << name << " " << name_of(dtype);
    }
    ASSERT_OK(call(name, {bools({1}, {1}), out, out}));
    EXPECT_NEAR(out.values()[0], reference(1), 1e-6) << name;
  }
}

TEST(FloatFunctionTest, RefusesAnIntegerOutput) {
  const Value out = make_tensor(ScalarType::Int, {1});
  EXPECT_REFUSED(accept("aten::sqrt.out", {tensor(ScalarType::Int, {1}, {4}), out, out}), ErrorCode::InvalidType,
                 "expected float32; found int32 [argument 1]");
}

TEST(FloatFunctionTest, ReadsViewsAndEmptyTensors) {
  const Value out = make_tensor(ScalarType::Float, {2, 2});
  const Value view = strided(ScalarType::Float, {2, 2}, {1, 4}, {1, 4, 0, 0, 9, 16});
  ASSERT_OK(call("aten::sqrt.out", {view, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 3, 2, 4));
  const Value empty = make_tensor(ScalarType::Float, {0});
  ASSERT_OK(call("aten::sqrt.out", {make_tensor(ScalarType::Float, {0}), empty, empty}));
}

// Expected values from PyTorch 2.15, float64.
TEST(GeluTest, BothForms) {
  const Value a = tensor(ScalarType::Double, {4}, {-2, -0.5, 0, 1.5});
  const Value out = make_tensor(ScalarType::Double, {4});
  ASSERT_OK(call("aten::gelu.out", {a, "none", out, out}));
  const std::vector<double> exact = out.values();
  const double expected_exact[] = {-0.0455002638963584, -0.1542687693629934, 0.0, 1.3997891980967130};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(exact[i], expected_exact[i], 1e-12);
  ASSERT_OK(call("aten::gelu.out", {a, "tanh", out, out}));
  const std::vector<double> approximate = out.values();
  const double expected_tanh[] = {-0.0454023059122249, -0.1542859901748561, 0.0, 1.3995715769802328};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(approximate[i], expected_tanh[i], 1e-12);
}

TEST(GeluTest, RefusesAnUnknownFormAndIntegers) {
  const Value out = make_tensor(ScalarType::Float, {1});
  EXPECT_REFUSED(accept("aten::gelu.out", {floats({1}, {1}), "sigmoid", out, out}), ErrorCode::InvalidArgument,
                 "found sigmoid [argument 1]");
  EXPECT_REFUSED(accept("aten::gelu.out", {longs({1}, {1}), "none", out, out}), ErrorCode::InvalidType, "int64");
}

TEST(ClampTest, EveryDtypeWithEitherBound) {
  for (const ScalarType dtype : kNumberTypes) {
    const Value out = make_tensor(dtype, {3});
    const Value a = tensor(dtype, {3}, {1, 5, 9});
    ASSERT_OK(call("aten::clamp.out", {a, 3, kNone, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(3, 5, 9)) << name_of(dtype);
    ASSERT_OK(call("aten::clamp.out", {a, kNone, 6, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(1, 5, 6)) << name_of(dtype);
    ASSERT_OK(call("aten::clamp.out", {a, 3, 6, out, out}));
    EXPECT_THAT(out.values(), ElementsAre(3, 5, 6)) << name_of(dtype);
  }
}

TEST(ClampTest, NanAndCrossingBounds) {
  const Value out = make_tensor(ScalarType::Float, {2});
  const Value a = floats({2}, {kNan, 1});
  ASSERT_OK(call("aten::clamp.out", {a, -0.5, kInfinity, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(IsNan(), 1));
  ASSERT_OK(call("aten::clamp.out", {a, kNone, kNan, out, out}));
  EXPECT_THAT(out.values(), Each(IsNan()));
  ASSERT_OK(call("aten::clamp.out", {floats({2}, {0, 9}), 3.0, 1.0, out, out}));
  EXPECT_THAT(out.values(), Each(1));
}

TEST(ClampTest, BoundsBeyondTheDtypeBoundNothing) {
  const Value out = make_tensor(ScalarType::Byte, {2});
  ASSERT_OK(call("aten::clamp.out", {tensor(ScalarType::Byte, {2}, {1, 200}), -5, 300, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1, 200));
}

TEST(ClampTest, DoubleBoundsMakeIntegersFloat) {
  const Value out = make_tensor(ScalarType::Float, {2});
  ASSERT_OK(call("aten::clamp.out", {longs({2}, {1, 2}), 1.5, kNone, out, out}));
  EXPECT_THAT(out.values(), ElementsAre(1.5, 2));
}

TEST(ClampTest, RefusesNoBoundsAndBools) {
  const Value out = make_tensor(ScalarType::Float, {1});
  EXPECT_REFUSED(accept("aten::clamp.out", {floats({1}, {1}), kNone, kNone, out, out}), ErrorCode::InvalidArgument,
                 "bounds");
  const Value flag = make_tensor(ScalarType::Bool, {1});
  EXPECT_REFUSED(accept("aten::clamp.out", {bools({1}, {1}), true, kNone, flag, flag}), ErrorCode::InvalidType, "bool");
}

}  // namespace
}  // namespace tandem::testing
