#include "cli/picture/method_steps.h"

#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MethodBuilder;

std::vector<MethodStep> steps_of(MethodBuilder& builder) {
  Result<std::vector<MethodStep>> steps = infer_steps(builder.method());
  EXPECT_TRUE(steps.ok());
  return steps.ok() ? std::move(steps).value() : std::vector<MethodStep>{};
}

TEST(InferStepsTest, DelegateWritesTheFirstTensorThatNothingHasWritten) {
  MethodBuilder b;
  const auto in = b.tensor({4}, 0);
  const auto weight = b.constant({1, 2});
  const auto cache = b.state({4}, 16, {});
  const auto scale = b.number(3);
  const auto middle = b.tensor({4}, 32);
  const auto second = b.tensor({4}, 48);
  const auto out = b.tensor({4}, 64);
  b.inputs({in}).outputs({out});
  b.delegate("X", {in, weight, cache, scale, middle, second});
  b.delegate("Y", {middle, second, out});
  const auto steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_THAT(steps[0].reads, ElementsAre(in, weight, cache, scale));
  EXPECT_THAT(steps[0].writes, ElementsAre(middle, second));
  EXPECT_THAT(steps[1].reads, ElementsAre(middle, second));
  EXPECT_THAT(steps[1].writes, ElementsAre(out));
}

TEST(InferStepsTest, BothBranchesMayWriteOneValue) {
  MethodBuilder b;
  const auto condition = b.flag(true);
  const auto never = b.flag(false);
  const auto in = b.tensor({4}, 0);
  const auto out = b.tensor({4}, 16);
  b.inputs({condition, in}).outputs({out});
  b.jump_if_false(condition, 3);
  b.delegate("X", {in, out});
  b.jump_if_false(never, 4);
  b.delegate("Y", {in, out});
  b.delegate("Z", {in, out});
  const auto steps = steps_of(b);
  EXPECT_THAT(steps[1].writes, ElementsAre(out));
  EXPECT_THAT(steps[3].writes, ElementsAre(out)) << "the first branch does not lead here";
  EXPECT_THAT(steps[4].reads, ElementsAre(in, out)) << "both branches lead here";
  EXPECT_FALSE(steps[0].always_jumps);
  EXPECT_TRUE(steps[2].always_jumps);
  EXPECT_EQ(steps[0].jump, 3U);
}

TEST(InferStepsTest, AMoveWritesItsTarget) {
  MethodBuilder b;
  const auto in = b.tensor({4}, 0);
  const auto moved = b.tensor({4}, 16);
  const auto out = b.tensor({4}, 32);
  b.inputs({in}).outputs({out});
  b.move(in, moved).delegate("X", {moved, out}).free(moved);
  const auto steps = steps_of(b);
  EXPECT_THAT(steps[0].reads, ElementsAre(in));
  EXPECT_THAT(steps[0].writes, ElementsAre(moved));
  EXPECT_THAT(steps[1].reads, ElementsAre(moved));
  EXPECT_THAT(steps[2].reads, ElementsAre(moved));
}

TEST(InferStepsTest, OperatorsOfThisBuildSayWhatTheyWrite) {
  MethodBuilder b;
  const auto to = b.tensor({3, 4}, 0);
  const auto from = b.tensor({4}, 48);
  const auto index = b.number(0);
  b.inputs({from}).outputs({to});
  b.kernel("executorch_prim::et_copy_index.tensor", {to, from, index});
  const auto steps = steps_of(b);
  EXPECT_THAT(steps[0].writes, ElementsAre(to)) << "not the last argument";
  EXPECT_THAT(steps[0].reads, ElementsAre(to, from, index)) << "a part stays";
}

TEST(InferStepsTest, UnknownOperatorsWriteTheirReturnValue) {
  MethodBuilder b;
  const auto a = b.tensor({4}, 0);
  const auto c = b.tensor({4}, 16);
  const auto out = b.tensor({4}, 32);
  const auto list = b.tensors({a, c});
  b.inputs({a, c}).outputs({out});
  b.kernel("my::join.out", {list, a, out, out});
  b.kernel("my::none", {});
  const auto steps = steps_of(b);
  EXPECT_THAT(steps[0].reads, ElementsAre(a, c)) << "list items, each once";
  EXPECT_THAT(steps[0].writes, ElementsAre(out));
  EXPECT_THAT(steps[1].writes, IsEmpty());
}

TEST(InferStepsTest, RefusesWhatNobodyCouldRead) {
  MethodBuilder many;
  const auto value = many.tensor({4}, 0);
  many.inputs({value});
  for (int i = 0; i < 2'001; ++i) many.free(value);
  EXPECT_EQ(infer_steps(many.method()).error().code(), ErrorCode::NotSupported);

  MethodBuilder wide;  // small in the file: a list of lists of one value
  const auto item = wide.tensor({4}, 0);
  const auto list = wide.tensors(std::vector<std::int32_t>(10'000, item));
  wide.inputs({item}).kernel("my::op", std::vector<std::int32_t>(10'000, list));
  const auto refused = infer_steps(wide.method());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(refused.error().site().method, wide.method().name);

  MethodBuilder valued;
  for (int i = 0; i < 100'001; ++i) valued.number(i);
  EXPECT_EQ(infer_steps(valued.method()).error().code(), ErrorCode::NotSupported);

  MethodBuilder outputs;
  const auto out = outputs.tensor({4}, 0);
  outputs.outputs(std::vector<std::int32_t>(20'001, out));
  EXPECT_EQ(infer_steps(outputs.method()).error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::cli
