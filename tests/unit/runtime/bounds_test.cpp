// Sizes that inputs may have: the program's bounds, those of the delegates that get them, and those of the caller.
#include "base/poison.h"
#include "support/function_backend.h"
#include "support/method_builder.h"

#include "runtime/execute/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::MethodBuilder;

/// x [rows, 3] with at most 8 rows, through delegates that add 1.
class BoundsTest : public ::testing::Test {
 protected:
  BoundsTest() {
    EXPECT_TRUE(b.backends.register_backend("Add", one).ok());
    EXPECT_TRUE(b.backends.register_backend("Next", two).ok());
    x = b.tensor({8, 3}, 0, true);
    between = b.tensor({8, 3}, 128, true);
    y = b.tensor({8, 3}, 256, true);
    b.inputs({x}).outputs({y});
  }
  Status load(std::vector<InputBounds> stated = {}) {
    bounds = std::move(stated);
    runtime::LowerInput input = b.lower_input();
    input.input_bounds = bounds;
    auto lowered = runtime::lower(input);
    if (!lowered.ok()) return std::move(lowered).error();
    schedule = *std::move(lowered);
    return {};
  }
  Status check(std::int64_t rows, std::int64_t columns = 3) const {
    return runtime::check_input(
        *schedule, floats({rows, columns}, std::vector<float>(static_cast<std::size_t>(rows * columns))), 0);
  }

  std::shared_ptr<FunctionBackend> one = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  std::shared_ptr<FunctionBackend> two = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  MethodBuilder b;
  std::int32_t x = 0;
  std::int32_t between = 0;
  std::int32_t y = 0;
  std::vector<InputBounds> bounds;
  std::unique_ptr<runtime::Schedule> schedule;
};

TEST_F(BoundsTest, AFixedAxisTakesItsOneSize) {
  one->know_bounds({{{1, 8, true}, {3, 3, false}}});
  b.delegate("Add", {x, y});
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(check(1).ok());
  EXPECT_TRUE(check(8).ok());
  const Status refused = check(2, 2);
  ASSERT_FALSE(refused.ok());
  const Error& error = refused.error();
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error.message(), "the size of axis 1 differs from the only one that the program takes");
  EXPECT_EQ(error.expected(), "3");
  EXPECT_EQ(error.found(), "2 of float32[2, 2]");
  EXPECT_EQ(error.site().method, "forward");
  EXPECT_EQ(error.site().argument, 0);
}

TEST_F(BoundsTest, EveryDelegateThatGetsTheInputCounts) {
  one->know_bounds({{{2, 8, false}, {1, 3, true}}});
  two->know_bounds({{{0, 6, false}, {1, 3, true}}});
  b.delegate("Add", {x, between}).delegate("Next", {x, y});
  ASSERT_TRUE(load().ok());
  EXPECT_THAT(check(1).error().message(), HasSubstr("below its lower bound"));
  EXPECT_TRUE(check(2).ok());
  EXPECT_TRUE(check(6).ok());
  EXPECT_THAT(check(7).error().message(), HasSubstr("over its upper bound"));
  EXPECT_EQ(check(7).error().expected(), "2 to 6");
}

TEST_F(BoundsTest, UnknownDelegatesGetNoSizeOfZero) {
  b.delegate("Add", {x, y});
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(check(1).ok());
  EXPECT_TRUE(check(1, 1).ok());
  EXPECT_THAT(check(0).error().message(), HasSubstr("below its lower bound"));
  EXPECT_THAT(check(0).error().expected(), HasSubstr("input_bounds"));
}

TEST_F(BoundsTest, InputsOfNoDelegateMayBeEmpty) {
  b.outputs({x});
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(check(0).ok());
}

TEST_F(BoundsTest, CallersStateWhatNobodyKnows) {
  b.delegate("Add", {x, y});
  ASSERT_TRUE(load({{.axis = 0, .min = 0}, {.axis = 1, .min = 2}, {.method = "other", .input = 9}}).ok());
  EXPECT_TRUE(check(0).ok());
  EXPECT_FALSE(check(1, 0).ok());
  EXPECT_FALSE(check(1, 1).ok());
  EXPECT_TRUE(check(1, 2).ok());
}

TEST_F(BoundsTest, CallersWidenNothing) {
  one->know_bounds({{{2, 8, false}, {3, 3, false}}});
  b.delegate("Add", {x, y});
  ASSERT_TRUE(load({{.axis = 0, .min = 0, .max = 100}}).ok());
  EXPECT_FALSE(check(0).ok());
  EXPECT_FALSE(check(1).ok());
  EXPECT_FALSE(check(9).ok());
}

TEST_F(BoundsTest, StatedBoundsThatCannotHoldAreRefusedWithTheInput) {
  one->know_bounds({{{1, 8, true}, {3, 3, false}}});
  b.delegate("Add", {x, y});
  for (const InputBounds& stated : {InputBounds{.input = 1}, InputBounds{.axis = 2}, InputBounds{.min = 4, .max = 3},
                                    InputBounds{.min = -1}, InputBounds{.axis = 1, .min = 0, .max = 2}}) {
    const Status refused = load({stated});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(refused.error().site().field, HasSubstr("bounds of input " + std::to_string(stated.input)));
  }
}

TEST_F(BoundsTest, FollowTheInputsCopies) {
  one->know_bounds({{{4, 8, false}, {3, 3, false}}});
  b.method().values.emplace_back(std::monostate{});
  const auto none = static_cast<std::int32_t>(b.method().values.size() - 1);
  b.kernel("aten::clone.out", {x, none, between, between});
  b.delegate("Add", {between, y});
  const Status loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_FALSE(check(3).ok());
  EXPECT_TRUE(check(4).ok());
}

TEST_F(BoundsTest, WhatABranchNeedsBindsNoInput) {
  one->know_bounds({{{4, 8, false}, {3, 3, false}}});
  const auto flag = b.flag(false);
  b.jump_if_false(flag, 2).delegate("Add", {x, between}).delegate("Next", {x, y});
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(check(3).ok());
}

/// The first delegate gives half of the rows.
Status halve(EnqueueArgs& args) {
  const TensorArg& in = args.arguments[0]->tensor;
  static thread_local std::array<std::int64_t, 2> sizes;
  sizes = {in.sizes[0] / 2, in.sizes[1]};
  std::fill_n(testing::floats_of(*args.arguments[1]), sizes[0] * sizes[1], 1.0F);
  args.outputs[0] = {.kind = OutputResult::Kind::InPlace, .rank = 2, .sizes = sizes.data()};
  return {};
}

TEST_F(BoundsTest, HoldForWhatIsBetweenDelegates) {
  one = std::make_shared<FunctionBackend>(1, halve);
  MethodBuilder halving;
  ASSERT_TRUE(halving.backends.register_backend("Halve", one).ok());
  ASSERT_TRUE(halving.backends.register_backend("Next", two).ok());
  two->know_bounds({{{1, 2, true}, {3, 3, false}}});
  x = halving.tensor({8, 3}, 0, true);
  between = halving.tensor({8, 3}, 128, true);
  y = halving.tensor({8, 3}, 256, true);
  halving.inputs({x}).outputs({y}).delegate("Halve", {x, between}).delegate("Next", {between, y});
  testing::TestRun run{halving};
  ASSERT_TRUE(run.loaded().ok());
  EXPECT_TRUE(run.run({floats({4, 3}, std::vector<float>(12))}).ok());
  for (const std::int64_t rows : {1, 6, 1, 6}) {  // also when the call before was refused
    const auto refused = run.run({floats({rows, 3}, std::vector<float>(static_cast<std::size_t>(rows * 3)))});
    ASSERT_FALSE(refused.ok()) << rows;
    EXPECT_THAT(refused.error().message(), HasSubstr(rows == 1 ? "axis 0 is below" : "axis 0 is over"));
    EXPECT_EQ(refused.error().site().instruction, 1);
    EXPECT_EQ(refused.error().site().delegate, 1);
    EXPECT_EQ(refused.error().site().argument, 0);
  }
  EXPECT_TRUE(run.run({floats({2, 3}, std::vector<float>(6))}).ok());
}

TEST_F(BoundsTest, ReadingPastWhatAStepWroteIsFound) {
  if (!base::kPoisons) GTEST_SKIP() << "needs the address sanitizer";
  const auto sum_all = [](EnqueueArgs& args) -> Status {
    const TensorArg& in = args.arguments[0]->tensor;
    float sum = 0;
    for (int i = 0; i < 24; ++i) sum += testing::floats_of(*args.arguments[0])[i];  // whatever its size is
    testing::floats_of(*args.arguments[1])[0] = sum;
    args.outputs[0] = {.kind = OutputResult::Kind::InPlace, .rank = in.rank, .sizes = in.sizes};
    return {};
  };
  MethodBuilder over;
  ASSERT_TRUE(over.backends.register_backend("Add", one).ok());
  ASSERT_TRUE(over.backends.register_backend("Sum", std::make_shared<FunctionBackend>(1, sum_all)).ok());
  x = over.tensor({8, 3}, 0, true);
  between = over.tensor({8, 3}, 128, true);
  y = over.tensor({8, 3}, 256, true);
  over.inputs({x}).outputs({y}).delegate("Add", {x, between}).delegate("Sum", {between, y});
  testing::TestRun run{over};
  ASSERT_TRUE(run.loaded().ok());
  EXPECT_TRUE(run.run({floats({8, 3}, std::vector<float>(24))}).ok());
  EXPECT_DEATH((void)run.run({floats({2, 3}, std::vector<float>(6))}).ok(), "use-after-poison");
}
}  // namespace
}  // namespace tandem
