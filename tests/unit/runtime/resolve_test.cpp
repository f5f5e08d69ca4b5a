#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::MethodBuilder;
using testing::TestRun;

std::shared_ptr<Backend> add_one() { return std::make_shared<FunctionBackend>(1, testing::add_number(1)); }

TEST(ResolveTest, NamesAllMissingOperatorsAtOnce) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  b.inputs({x}).outputs({y}).kernel("aten::frobnicate.out", {x, y, y}).kernel("aten::twiddle.out", {y, y, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::OperatorMissing);
  EXPECT_EQ(lowered.error().site().op, "aten::frobnicate.out, aten::twiddle.out");
  EXPECT_EQ(lowered.error().site().method, "forward");
}

TEST(ResolveTest, NamesAllMissingBackendsAtOnce) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  ASSERT_TRUE(b.backends.register_backend("Here", add_one()).ok());
  b.inputs({x}).outputs({y}).delegate("Gone", {x, y}).delegate("Here", {x, y}).delegate("Lost", {x, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::BackendMissing);
  EXPECT_EQ(lowered.error().found(), "Gone, Lost");
  EXPECT_EQ(lowered.error().expected(), "one of Here");
}

TEST(ResolveTest, RefusesNativeCodeWhenNotAllowed) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  ASSERT_TRUE(b.backends.register_backend("Here", add_one()).ok());
  b.inputs({x}).outputs({y}).delegate("Here", {x, y});
  runtime::LowerInput input = b.lower_input();
  input.allow_native_code = false;
  const auto lowered = runtime::lower(input);
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(lowered.error().site().backend, "Here");
}

TEST(ResolveTest, WrongArgumentCountNamesTheInstruction) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  b.inputs({x}).outputs({y}).kernel("aten::relu.out", {x, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().instruction, 0);
  EXPECT_EQ(lowered.error().site().op, "aten::relu.out");
  EXPECT_EQ(lowered.error().expected(), "3");
  EXPECT_EQ(lowered.error().found(), "2");
}

TEST(ResolveTest, ReturnValueMustBeTheOutput) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  const auto z = b.tensor({2}, 128);
  b.inputs({x}).outputs({y}).kernel("aten::relu.out", {x, y, z});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().value, z);
}

TEST(ResolveTest, RefusesMoveBetweenKinds) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto n = b.number(3);
  b.inputs({x}).outputs({x}).move(n, x);
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().value, x);
}

TEST(ResolveTest, RefusesDelegateWithMoreOutputsThanArguments) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  ASSERT_TRUE(b.backends.register_backend("Wide", std::make_shared<FunctionBackend>(3, testing::add_number(1))).ok());
  b.inputs({x}).outputs({x}).delegate("Wide", {x, x});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().delegate, 0);
}

TEST(ResolveTest, RefusesDelegateThatDeclaresAnotherArgumentCount) {
  MethodBuilder b;
  const auto x = b.tensor({2}, 0);
  const auto y = b.tensor({2}, 64);
  ASSERT_TRUE(b.backends
                  .register_backend("Odd", std::make_shared<FunctionBackend>(1, testing::add_number(1),
                                                                             std::vector{AccessMode::Read}))
                  .ok());
  b.inputs({x}).outputs({y}).delegate("Odd", {x, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::BackendFailed);
}

TEST(ResolveTest, PreparesManyDelegatesInProgramOrder) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("Add", add_one()).ok());
  auto from = b.tensor({4}, 0);
  b.inputs({from});
  for (int i = 0; i < 25; ++i) {
    const auto to = b.tensor({4}, 64 * (1 + i));
    b.delegate("Add", {from, to});
    from = to;
  }
  b.outputs({from});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({testing::floats({4}, {0, 1, 2, 3})}), (std::vector<float>{25, 26, 27, 28}));
}

}  // namespace
}  // namespace tandem
