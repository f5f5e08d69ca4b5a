#include "support/function_backend.h"
#include "support/method_builder.h"

#include "device/host/host_device.h"
#include "runtime/state.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using testing::MethodBuilder;
using testing::TestRun;

/// y = x + state; state = y.
void accumulate(MethodBuilder& b, std::int32_t state) {
  ASSERT_TRUE(b.backends
                  .register_backend(
                      "Sum", std::make_shared<FunctionBackend>(1,
                                                               [](EnqueueArgs& args) -> Status {
                                                                 const auto* x = testing::floats_of(*args.arguments[0]);
                                                                 const auto* s = testing::floats_of(*args.arguments[1]);
                                                                 *testing::floats_of(*args.arguments[2]) = *x + *s;
                                                                 return {};
                                                               }))
                  .ok());
  const auto x = b.tensor({1}, 128);
  const auto y = b.tensor({1}, 192);
  const auto no = b.flag(false);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, state, y}).kernel("aten::copy_", {state, y, no, state});
}

TEST(StateTest, ValueReadBeforeItIsWrittenPersistsAndStartsAtZero) {
  MethodBuilder b;
  accumulate(b, b.tensor({1}, 0));
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  ASSERT_EQ(run.schedule().states.size(), 1U);
  EXPECT_EQ(run.floats({floats({1}, {2})}), std::vector<float>{2});
  EXPECT_EQ(run.floats({floats({1}, {3})}), std::vector<float>{5});
}

TEST(StateTest, InitialBytesComeFromTheFile) {
  MethodBuilder b;
  accumulate(b, b.state({1}, 0, {100}));
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({floats({1}, {2})}), std::vector<float>{102});
  EXPECT_EQ(run.floats({floats({1}, {2})}), std::vector<float>{104});
}

TEST(StateTest, OnlyTheSharedArenaIsShared) {
  MethodBuilder b;
  accumulate(b, b.tensor({1}, 0, false, ScalarType::Float, 2));
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_TRUE((*lowered)->states.front().shared);
  MethodBuilder own;
  accumulate(own, own.tensor({1}, 0));
  const auto other = own.lower();
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->states.front().shared);
}

TEST(StateTest, ReadWithoutMemoryIsRefused) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  const auto nowhere = b.tensor({1});
  const auto y = b.tensor({1}, 64);
  b.outputs({y}).delegate("F", {nowhere, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().value, nowhere);
}

TEST(StateTest, ReadAfterFreeIsRefused) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  const auto x = b.tensor({1}, 0);
  const auto a = b.tensor({1}, 64);
  const auto y = b.tensor({1}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).free(a).delegate("F", {a, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().instruction, 2);
}

TEST(StateTest, WriteToAConstantIsRefused) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  const auto x = b.tensor({1}, 0);
  const auto c = b.constant({1});
  b.inputs({x}).outputs({c}).delegate("F", {x, c});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(lowered.error().site().value, c);
}

TEST(StateTest, InputThatAStepWritesIsCopied) {
  MethodBuilder b;
  const auto x = b.tensor({1}, 0);
  const auto y = b.tensor({1}, 64);
  const auto no = b.flag(false);
  b.inputs({x, y}).outputs({x}).kernel("aten::copy_", {x, y, no, x});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  const Value mine = floats({1}, {1});
  EXPECT_EQ(run.floats({mine, floats({1}, {7})}), std::vector<float>{7});
  EXPECT_EQ(testing::to_floats(mine), std::vector<float>{1});
}

}  // namespace
}  // namespace tandem
