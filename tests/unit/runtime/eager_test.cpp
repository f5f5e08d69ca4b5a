#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::MethodBuilder;
using testing::TestRun;

void add_backend(MethodBuilder& b, const std::string& id, std::shared_ptr<Backend> backend) {
  ASSERT_TRUE(b.backends.register_backend(id, std::move(backend)).ok());
}

TEST(EagerTest, LoopRunsUntilItsConditionHoldsAndStartsAfreshEveryRun) {
  MethodBuilder b;
  add_backend(b, "Add", std::make_shared<FunctionBackend>(1, testing::add_number(1)));
  const auto x = b.tensor({1}, 0);
  const auto y = b.tensor({1}, 64);
  const auto i = b.number(0);
  const auto one = b.number(1);
  const auto five = b.number(5);
  const auto done = b.flag(false);
  b.inputs({x}).outputs({y, i});
  b.kernel("executorch_prim::add.Scalar", {i, one, i});
  b.kernel("executorch_prim::eq.Scalar", {i, five, done});
  b.jump_if_false(done, 0);
  b.delegate("Add", {x, y});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  for (int k = 0; k < 2; ++k) {
    const auto values = run.run({floats({1}, {3})});
    ASSERT_TRUE(values.ok()) << values.error().to_string();
    EXPECT_EQ((*values)[1].to_int(), 5);
    EXPECT_EQ(testing::to_floats((*values)[0]), std::vector<float>{4});
  }
}

TEST(EagerTest, EndlessLoopEndsWithAnError) {
  MethodBuilder b;
  const auto never = b.flag(false);
  b.jump_if_false(never, 0);
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok());
  const auto values = run.run({});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(values.error().site().instruction, 0);
}

TEST(EagerTest, ChainsRunOneAfterTheOther) {
  MethodBuilder b;
  add_backend(b, "Add", std::make_shared<FunctionBackend>(1, testing::add_number(1)));
  add_backend(b, "Add10", std::make_shared<FunctionBackend>(1, testing::add_number(10)));
  const auto x = b.tensor({1}, 0);
  const auto y = b.tensor({1}, 64);
  const auto z = b.tensor({1}, 128);
  const auto yes = b.flag(false);
  b.inputs({x}).outputs({z});
  b.delegate("Add", {x, y}).jump_if_false(yes, 3).delegate("Add10", {x, y});  // jumps to the end of its chain
  b.next_chain().delegate("Add10", {y, z});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({floats({1}, {0})}), std::vector<float>{11});
}

TEST(EagerTest, ConditionTensorHoldsOnlyIfAllElementsDo) {
  MethodBuilder b;
  add_backend(b, "Add", std::make_shared<FunctionBackend>(1, testing::add_number(1)));
  add_backend(b, "Add10", std::make_shared<FunctionBackend>(1, testing::add_number(10)));
  const auto condition = b.tensor({2}, 0, false, ScalarType::Bool);
  const auto x = b.tensor({1}, 64);
  const auto a = b.tensor({1}, 128);
  const auto c = b.tensor({1}, 192);
  const auto merged = b.tensor({1}, 256);
  const auto never = b.flag(false);
  b.inputs({condition, x}).outputs({merged});
  b.jump_if_false(condition, 4).delegate("Add", {x, a}).move(a, merged).jump_if_false(never, 6);
  b.delegate("Add10", {x, c}).move(c, merged);
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  for (const auto& [flags, expected] :
       {std::pair{std::array<bool, 2>{true, true}, 1.F}, std::pair{std::array<bool, 2>{true, false}, 10.F}}) {
    std::array<bool, 2> copy = flags;
    const auto tensor = Tensor::from_blob(copy.data(), ScalarType::Bool, std::array<std::int64_t, 1>{2});
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(run.floats({*tensor, floats({1}, {0})}), std::vector<float>{expected});
  }
}

TEST(EagerTest, LandsViewsWithOtherStridesInThePlannedLayout) {
  MethodBuilder b;
  static constexpr std::array<std::int64_t, 2> kSizes{2, 3};
  static constexpr std::array<std::int64_t, 2> kTransposed{1, 2};
  add_backend(b, "Transposed", std::make_shared<FunctionBackend>(1, [](EnqueueArgs& args) -> Status {
                args.outputs[0] = {.kind = OutputResult::Kind::View,
                                   .dtype = ScalarType::Float,
                                   .rank = 2,
                                   .data = args.arguments[0]->tensor.data,
                                   .sizes = kSizes.data(),
                                   .strides = kTransposed.data()};
                return {};
              }));
  const auto x = b.tensor({6}, 0);
  const auto y = b.tensor({2, 3}, 64);
  b.inputs({x}).outputs({y}).delegate("Transposed", {x, y});
  TestRun run{b};
  EXPECT_EQ(run.floats({floats({6}, {0, 1, 2, 3, 4, 5})}), (std::vector<float>{0, 2, 4, 1, 3, 5}));
}

TEST(EagerTest, DelegateNumbersReachLaterSteps) {
  MethodBuilder b;
  add_backend(b, "Count", std::make_shared<FunctionBackend>(1, [](EnqueueArgs& args) -> Status {
                args.outputs[0] = {.kind = OutputResult::Kind::Number, .number = args.arguments[0]->tensor.numel()};
                return {};
              }));
  const auto x = b.tensor({3}, 0);
  const auto n = b.number(0);
  const auto two = b.number(2);
  const auto doubled = b.number(0);
  b.inputs({x}).outputs({doubled}).delegate("Count", {x, n}).kernel("executorch_prim::mul.Scalar", {n, two, doubled});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  const auto values = run.run({floats({3}, {0, 0, 0})});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(values->front().to_int(), 6);
}

TEST(EagerTest, ResultThatNobodyUsesIsDropped) {
  MethodBuilder b;
  add_backend(b, "Two", std::make_shared<FunctionBackend>(2, [](EnqueueArgs& args) -> Status {
                *testing::floats_of(*args.arguments[1]) = 5;
                args.outputs[1] = {.kind = OutputResult::Kind::View, .dtype = ScalarType::Float};
                return {};
              }));
  const auto y = b.tensor({1}, 64);
  const auto x = b.tensor({1}, 0);
  b.method().values.emplace_back(std::monostate{});
  const auto none = static_cast<std::int32_t>(b.method().values.size() - 1);
  b.inputs({x}).outputs({y}).delegate("Two", {x, y, none});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({floats({1}, {0})}), std::vector<float>{5});
}

TEST(EagerTest, WrongKindOfResultIsNamed) {
  MethodBuilder b;
  add_backend(b, "Liar", std::make_shared<FunctionBackend>(1, [](EnqueueArgs& args) -> Status {
                args.outputs[0] = {.kind = OutputResult::Kind::Number, .number = 1};
                return {};
              }));
  const auto x = b.tensor({3}, 0);
  const auto y = b.tensor({3}, 64);
  b.inputs({x}).outputs({y}).delegate("Liar", {x, y});
  TestRun run{b};
  const auto values = run.run({floats({3}, {0, 0, 0})});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code(), ErrorCode::InvalidType);
  EXPECT_EQ(values.error().site().delegate, 0);
  EXPECT_EQ(values.error().site().argument, 1);
}

TEST(EagerTest, FailedStepLeavesTheInstanceUsable) {
  MethodBuilder b;
  auto fail = std::make_shared<bool>(true);
  add_backend(b, "Moody", std::make_shared<FunctionBackend>(1, [fail](EnqueueArgs& args) -> Status {
                if (*fail) return Error{ErrorCode::BackendFailed, "not today"}.with_native(Origin::Custom, 7, "grumpy");
                return testing::add_number(1)(args);
              }));
  const auto x = b.tensor({1}, 0);
  const auto y = b.tensor({1}, 64);
  b.inputs({x}).outputs({y}).delegate("Moody", {x, y});
  TestRun run{b};
  const auto failed = run.run({floats({1}, {1})});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(failed.error().native().code, 7);
  EXPECT_EQ(failed.error().site().backend, "Moody");
  EXPECT_EQ(failed.error().site().instruction, 0);
  *fail = false;
  EXPECT_EQ(run.floats({floats({1}, {1})}), std::vector<float>{2});
}

TEST(EagerTest, BindsOncePerShape) {
  MethodBuilder b;
  const auto backend = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  add_backend(b, "Add", backend);
  const auto x = b.tensor({8}, 0, true);
  const auto y = b.tensor({8}, 64, true);
  b.inputs({x}).outputs({y}).delegate("Add", {x, y});
  TestRun run{b};
  EXPECT_EQ(run.floats({floats({2}, {1, 2})}), (std::vector<float>{2, 3}));
  EXPECT_EQ(run.floats({floats({2}, {3, 4})}), (std::vector<float>{4, 5}));
  EXPECT_EQ(backend->binds(), 1);
  EXPECT_EQ(run.floats({floats({3}, {1, 2, 3})}), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(backend->binds(), 2);
}

TEST(EagerTest, TwoCallsOfOneDelegateEachBindTheirShapes) {
  MethodBuilder b;
  const auto backend = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  add_backend(b, "Add", backend);
  const auto x = b.tensor({2}, 0);
  const auto z = b.tensor({1}, 128);
  const auto y = b.tensor({2}, 64);
  const auto w = b.tensor({1}, 192);
  b.inputs({x, z}).outputs({y, w}).delegate("Add", {x, y}).call(0, {z, w});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({floats({2}, {1, 2}), floats({1}, {5})}, 1), std::vector<float>{6});
  EXPECT_EQ(backend->binds(), 2);
}

TEST(EagerTest, ResultOverTheBoundIsNamed) {
  MethodBuilder b;
  static constexpr std::array<std::int64_t, 1> kHuge{100};
  add_backend(b, "Huge", std::make_shared<FunctionBackend>(1, [](EnqueueArgs& args) -> Status {
                args.outputs[0] = {.kind = OutputResult::Kind::InPlace, .rank = 1, .sizes = kHuge.data()};
                return {};
              }));
  const auto x = b.tensor({4}, 0, true);
  const auto y = b.tensor({4}, 64, true);
  b.inputs({x}).outputs({y}).delegate("Huge", {x, y});
  TestRun run{b};
  const auto values = run.run({floats({2}, {1, 2})});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(values.error().found(), HasSubstr("[100]"));
}

}  // namespace
}  // namespace tandem
