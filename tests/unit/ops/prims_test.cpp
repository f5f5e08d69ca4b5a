#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::testing {
namespace {

using Kind = Argument::Kind;

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls `executorch_prim::<name>` and gives the result's value with its kind.
::testing::AssertionResult yields(const std::string& name, std::vector<Value> arguments, const Value& expected) {
  const Value result = 0;
  arguments.push_back(result);
  const Status status = call("executorch_prim::" + name, arguments);
  if (!status.ok()) return ::testing::AssertionFailure() << status.error().to_string();
  const Argument& found = result.argument();
  const Argument& wanted = expected.argument();
  const bool equal = found.kind == wanted.kind && (found.kind != Kind::Int || found.integer == wanted.integer) &&
                     (found.kind != Kind::Double ||
                      (std::isnan(wanted.number) ? std::isnan(found.number)
                                                 : found.number == wanted.number &&
                                                       std::signbit(found.number) == std::signbit(wanted.number))) &&
                     (found.kind != Kind::Bool || found.flag == wanted.flag);
  if (equal) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << name << ": kind " << static_cast<int>(found.kind) << " int " << found.integer
                                       << " double " << found.number << " bool " << found.flag;
}

Status refusal(const std::string& name, std::vector<Value> arguments) {
  arguments.push_back(Value{0});
  return call("executorch_prim::" + name, arguments);
}

TEST(PrimArithmeticTest, IntegersStayIntegers) {
  EXPECT_TRUE(yields("add.Scalar", {2, 3}, 5));
  EXPECT_TRUE(yields("sub.Scalar", {2, 3}, -1));
  EXPECT_TRUE(yields("mul.Scalar", {2, 3}, 6));
}

TEST(PrimArithmeticTest, OneDoubleMakesADouble) {
  EXPECT_TRUE(yields("add.Scalar", {2, 0.5}, 2.5));
  EXPECT_TRUE(yields("sub.Scalar", {0.5, 2}, -1.5));
  EXPECT_TRUE(yields("mul.Scalar", {0.5, 0.5}, 0.25));
}

TEST(PrimArithmeticTest, IntegersWrapAround) {
  EXPECT_TRUE(yields("add.Scalar", {kMax, 1}, kMin));
  EXPECT_TRUE(yields("sub.Scalar", {kMin, 1}, kMax));
  EXPECT_TRUE(yields("mul.Scalar", {kMin, -1}, kMin));
  EXPECT_TRUE(yields("neg.Scalar", {kMin}, kMin));
}

TEST(PrimArithmeticTest, RefusesBools) {
  EXPECT_REFUSED(refusal("add.Scalar", {1, true}), ErrorCode::InvalidType,
                 "expected int or double; found bool [argument 1]");
  EXPECT_REFUSED(refusal("neg.Scalar", {true}), ErrorCode::InvalidType, "found bool [argument 0]");
}

TEST(PrimArithmeticTest, RefusesTextsAtLoad) {
  EXPECT_REFUSED(accept("executorch_prim::add.Scalar", {1, "one", 0}), ErrorCode::InvalidType,
                 "found string [argument 1]");
}

TEST(PrimFloordivTest, FloorsAsPython) {
  EXPECT_TRUE(yields("floordiv.Scalar", {7, 2}, 3));
  EXPECT_TRUE(yields("floordiv.Scalar", {-7, 2}, -4));
  EXPECT_TRUE(yields("floordiv.Scalar", {7, -2}, -4));
  EXPECT_TRUE(yields("floordiv.Scalar", {-7, -2}, 3));
  EXPECT_TRUE(yields("floordiv.Scalar", {-6, 2}, -3));
  EXPECT_TRUE(yields("floordiv.Scalar", {7.5, 2}, 3.0));
  EXPECT_TRUE(yields("floordiv.Scalar", {-7.5, 2}, -4.0));
  EXPECT_TRUE(yields("floordiv.Scalar", {1.0, 0.1}, 9.0));
  EXPECT_TRUE(yields("floordiv.Scalar", {-0.0, 2.0}, -0.0));
}

TEST(PrimFloordivTest, ADoubleZeroGivesInfinity) {
  EXPECT_TRUE(yields("floordiv.Scalar", {1.0, 0.0}, kInfinity));
  EXPECT_TRUE(yields("floordiv.Scalar", {-1, 0.0}, -kInfinity));
}

TEST(PrimFloordivTest, NoIntegerDivisionIsUndefined) {
  for (const char* name : {"floordiv.Scalar", "floordiv.int", "mod.int", "mod.Scalar"}) {
    EXPECT_REFUSED(refusal(name, {1, 0}), ErrorCode::InvalidArgument, "division by zero");
  }
  EXPECT_TRUE(yields("floordiv.Scalar", {kMin, -1}, kMin));
  EXPECT_TRUE(yields("floordiv.int", {kMin, -1}, kMin));
  EXPECT_TRUE(yields("mod.Scalar", {kMin, -1}, 0));
}

TEST(PrimFloordivTest, TheIntOverloadCutsTowardsZero) {
  EXPECT_TRUE(yields("floordiv.int", {-7, 2}, -3));
  EXPECT_REFUSED(refusal("floordiv.int", {7.0, 2}), ErrorCode::InvalidType, "expected int; found double [argument 0]");
}

TEST(PrimModTest, IsTheRemainderOfC) {
  EXPECT_TRUE(yields("mod.int", {-7, 2}, -1));
  EXPECT_TRUE(yields("mod.Scalar", {7, -2}, 1));
  EXPECT_REFUSED(refusal("mod.Scalar", {7.0, 2}), ErrorCode::InvalidType, "found double [argument 0]");
}

TEST(PrimTruedivTest, IsAlwaysADouble) {
  EXPECT_TRUE(yields("truediv.Scalar", {4, 2}, 2.0));
  EXPECT_TRUE(yields("truediv.Scalar", {1, 0}, kInfinity));
  EXPECT_TRUE(yields("truediv.Scalar", {0, 0}, std::nan("")));
}

TEST(PrimComparisonTest, NumbersAndBools) {
  EXPECT_TRUE(yields("eq.Scalar", {2, 2.0}, true));
  EXPECT_TRUE(yields("eq.Scalar", {kMax, kMax - 1}, false));
  EXPECT_TRUE(yields("gt.Scalar", {2, 1.5}, true));
  EXPECT_TRUE(yields("lt.Scalar", {2, 1.5}, false));
  EXPECT_TRUE(yields("ge.Scalar", {2, 2}, true));
  EXPECT_TRUE(yields("le.Scalar", {2, 1}, false));
  EXPECT_TRUE(yields("eq.Scalar", {std::nan(""), std::nan("")}, false));
  EXPECT_TRUE(yields("eq.Scalar", {true, true}, true));
  EXPECT_TRUE(yields("gt.Scalar", {true, false}, true));
}

TEST(PrimComparisonTest, RefusesABoolWithANumber) {
  EXPECT_REFUSED(refusal("eq.Scalar", {true, 1}), ErrorCode::InvalidType, "found bool [argument 0]");
}

TEST(PrimConversionTest, FromEveryKind) {
  EXPECT_TRUE(yields("sym_float.Scalar", {3}, 3.0));
  EXPECT_TRUE(yields("sym_float.Scalar", {0.5}, 0.5));
  EXPECT_TRUE(yields("sym_float.Scalar", {true}, 1.0));
  EXPECT_TRUE(yields("sym_int.Scalar", {3}, 3));
  EXPECT_TRUE(yields("sym_int.Scalar", {-2.9}, -2));
  EXPECT_TRUE(yields("sym_int.Scalar", {true}, 1));
}

TEST(PrimConversionTest, RefusesDoublesBeyondIntegers) {
  for (const double number : {0x1p63, -0x1.1p63, kInfinity, std::nan("")}) {
    EXPECT_REFUSED(refusal("sym_int.Scalar", {number}), ErrorCode::InvalidArgument, "int64");
    EXPECT_REFUSED(refusal("round.Scalar", {number}), ErrorCode::InvalidArgument, "int64");
  }
}

TEST(PrimRoundingTest, CeilTruncAndHalfToEven) {
  EXPECT_TRUE(yields("ceil.Scalar", {1.2}, 2));
  EXPECT_TRUE(yields("ceil.Scalar", {-1.2}, -1));
  EXPECT_TRUE(yields("trunc.Scalar", {-1.8}, -1));
  EXPECT_TRUE(yields("round.Scalar", {0.5}, 0));
  EXPECT_TRUE(yields("round.Scalar", {1.5}, 2));
  EXPECT_TRUE(yields("round.Scalar", {2.5}, 2));
  EXPECT_TRUE(yields("round.Scalar", {-1.5}, -2));
  EXPECT_TRUE(yields("round.Scalar", {-2.5}, -2));
  EXPECT_TRUE(yields("round.Scalar", {2.6}, 3));
  EXPECT_TRUE(yields("round.Scalar", {0x1.fffffffffffffp-2}, 0));
}

TEST(PrimRoundingTest, RefusesIntegers) {
  for (const char* name : {"ceil.Scalar", "round.Scalar", "trunc.Scalar"}) {
    EXPECT_REFUSED(refusal(name, {1}), ErrorCode::InvalidType, "expected double; found int [argument 0]");
  }
}

TEST(PrimChoiceTest, MaxMinNotAndIfThenElse) {
  EXPECT_TRUE(yields("neg.Scalar", {3}, -3));
  EXPECT_TRUE(yields("neg.Scalar", {0.0}, -0.0));
  EXPECT_TRUE(yields("sym_max.Scalar", {3, -4}, 3));
  EXPECT_TRUE(yields("sym_min.Scalar", {3, -4}, -4));
  EXPECT_TRUE(yields("sym_not.Scalar", {false}, true));
  EXPECT_TRUE(yields("sym_ite.Scalar", {true, 1, 2.5}, 1));
  EXPECT_TRUE(yields("sym_ite.Scalar", {false, 1, 2.5}, 2.5));
  EXPECT_TRUE(yields("sym_ite.Scalar", {false, 1, true}, true));
}

TEST(PrimChoiceTest, RefusesOtherKinds) {
  EXPECT_REFUSED(refusal("sym_max.Scalar", {3, 4.0}), ErrorCode::InvalidType, "[argument 1]");
  EXPECT_REFUSED(refusal("sym_not.Scalar", {1}), ErrorCode::InvalidType, "expected bool; found int [argument 0]");
  EXPECT_REFUSED(refusal("sym_ite.Scalar", {1, 1, 2}), ErrorCode::InvalidType, "[argument 0]");
}

}  // namespace
}  // namespace tandem::testing
