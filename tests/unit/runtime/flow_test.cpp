#include "runtime/order/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::runtime {
namespace {

using ::testing::ElementsAre;

Step plain() { return {.kind = Step::Kind::Free}; }
Step jump(std::uint32_t target) { return {.kind = Step::Kind::JumpFalse, .target = target}; }

TEST(FlowTest, StraightLineIsOneBlock) {
  Schedule schedule;
  schedule.steps = {plain(), plain(), plain()};
  const auto blocks = find_blocks(schedule);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].end, 3U);
  EXPECT_THAT(blocks[0].next, ElementsAre(1U));  // the end
}

TEST(FlowTest, EmptyScheduleIsOneEmptyBlock) {
  const Schedule schedule;
  const auto blocks = find_blocks(schedule);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].begin, blocks[0].end);
  EXPECT_THAT(blocks[0].next, ElementsAre(1U));
}

TEST(FlowTest, JumpsSplitAtTheirTargetsAndBehindThem) {
  Schedule schedule;
  schedule.steps = {plain(), jump(4), plain(), jump(5), plain(), plain()};  // an if with two branches
  const auto blocks = find_blocks(schedule);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_THAT(blocks[0].next, ElementsAre(1U, 2U));
  EXPECT_THAT(blocks[1].next, ElementsAre(2U, 3U));
  EXPECT_THAT(blocks[2].next, ElementsAre(3U));
  EXPECT_THAT(blocks[3].next, ElementsAre(4U));
}

TEST(FlowTest, JumpToTheEndLeaves) {
  Schedule schedule;
  schedule.steps = {plain(), jump(2)};
  const auto blocks = find_blocks(schedule);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_THAT(blocks[0].next, ElementsAre(1U, 1U));
}

TEST(FlowTest, BackwardJumpMakesALoop) {
  Schedule schedule;
  schedule.steps = {plain(), plain(), jump(1), plain()};
  const auto blocks = find_blocks(schedule);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[1].begin, 1U);
  EXPECT_THAT(blocks[1].next, ElementsAre(2U, 1U));
}

TEST(FlowTest, TooManyBlocksTimesValuesAreRefused) {
  Schedule schedule;
  schedule.values.resize(1 << 16);
  schedule.stored.resize(schedule.values.size());
  for (std::uint32_t i = 0; i < (1 << 12); ++i) schedule.steps.push_back(jump(i));
  const auto blocks = find_blocks(schedule);
  const auto definitions = find_definitions(schedule, blocks);
  ASSERT_FALSE(definitions.ok());
  EXPECT_EQ(definitions.error().code(), ErrorCode::NotSupported);
  EXPECT_FALSE(find_live_out(schedule, blocks).ok());
}

}  // namespace
}  // namespace tandem::runtime
