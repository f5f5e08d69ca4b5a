#include "support/planted_faults.h"

#include "runtime/order/lifetime.h"
#include "runtime/order/order_check.h"
#include "support/event_plan.h"
#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Each kind of fault that makes a plan wrong, planted in one that is right: the checks find it and name its steps.

namespace tandem::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::event_plan;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MethodBuilder;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// A diamond, then a chain, with a host step between: x -> a; a -> left; a -> right; left + right -> sum (host);
/// sum -> last -> out.
class PlantedFaultsTest : public ::testing::Test {
 protected:
  PlantedFaultsTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
    x = b.tensor({4}, 0);
    a = b.tensor({4}, 64);
    left = b.tensor({4}, 128);
    right = b.tensor({4}, 192);
    sum = b.tensor({4}, 256);
    last = b.tensor({4}, 320);
    out = b.tensor({4}, 384);
    const auto one = b.number(1);
    b.inputs({x}).outputs({out}).delegate("F", {x, a}).delegate("F", {a, left}).delegate("F", {a, right});
    b.kernel("aten::add.out", {left, right, one, sum, sum}).delegate("F", {sum, last}).delegate("F", {last, out});
    auto lowered = b.lower();
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    schedule = *std::move(lowered);
    plan = event_plan(*schedule);
  }

  std::vector<Pair> pairs(const StreamPlan& of) const {
    std::vector<Pair> pairs;
    for (const Conflict& found : find_conflicts(*schedule, of)) pairs.emplace_back(found.first, found.second);
    return pairs;
  }

  MethodBuilder b;
  std::int32_t x, a, left, right, sum, last, out;
  std::unique_ptr<Schedule> schedule;
  StreamPlan plan;
};

TEST_F(PlantedFaultsTest, ThePlanIsRight) {
  EXPECT_THAT(pairs(plan), IsEmpty());
  EXPECT_EQ(testing::wait_count(plan), 4U);
  EXPECT_EQ(testing::join_count(plan), 1U);
}

TEST_F(PlantedFaultsTest, ADroppedEventIsFound) {
  EXPECT_THAT(pairs(testing::drop_wait(plan, 0)), ElementsAre(Pair(0, 1)));
  EXPECT_THAT(pairs(testing::drop_wait(plan, 1)), ElementsAre(Pair(0, 2)));
  EXPECT_THAT(pairs(testing::drop_wait(plan, 2)), ElementsAre(Pair(4, 5), Pair(4, 6)));  // 6: the end
  EXPECT_THAT(pairs(testing::drop_wait(plan, 3)), ElementsAre(Pair(4, 6), Pair(5, 6)));
}

TEST_F(PlantedFaultsTest, TheErrorNamesTheMissingEdge) {
  schedule->streams = testing::drop_wait(plan, 1);
  const Status status = check_order(*schedule);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(status.error().site().instruction, 2);
  EXPECT_EQ(status.error().site().value, a);
  EXPECT_EQ(status.error().found(), "nothing makes stream 3 wait for instruction 0 (delegate 0, F) on stream 1");
}

TEST_F(PlantedFaultsTest, AWrongEventIsFound) {
  for (std::size_t n = 0; n < testing::wait_count(plan); ++n) {
    const testing::WaitEdge edge = testing::wait_edge(plan, n);
    for (std::uint32_t event = 0; event < plan.events; ++event) {
      const StreamPlan wrong = testing::retarget_wait(plan, n, event);
      if (testing::wait_edge(wrong, n).from == edge.from) continue;
      EXPECT_THAT(pairs(wrong), Contains(Pair(edge.from, edge.to))) << "wait " << n << ", event " << event;
    }
  }
}

TEST_F(PlantedFaultsTest, AMissingJoinIsFound) {
  // The host step first; and nothing else makes the end wait for the streams that were to be joined.
  EXPECT_THAT(pairs(testing::drop_join(plan, 0)),
              ElementsAre(Pair(1, 3), Pair(2, 3), Pair(0, 6), Pair(1, 6), Pair(2, 6)));
}

TEST_F(PlantedFaultsTest, OverlappingSlotsAreFound) {
  ASSERT_TRUE(check_lifetimes(*schedule).ok());
  testing::place_over(*schedule, static_cast<std::uint32_t>(right), static_cast<std::uint32_t>(left));
  const Status status = check_lifetimes(*schedule);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(status.error().site().instruction, 2);
  EXPECT_EQ(status.error().site().value, right);
  EXPECT_THAT(status.error().expected(), HasSubstr("value " + std::to_string(left) + " for instruction 3"));
  // The events do not order the two writers either: nothing said that they meet.
  EXPECT_THAT(pairs(plan), ElementsAre(Pair(1, 2)));
}

TEST_F(PlantedFaultsTest, AnUndeclaredAliasIsFound) {
  testing::place_over(*schedule, static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(a));  // a is read later
  const Status status = check_lifetimes(*schedule);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(status.error().site().instruction, 1);
  EXPECT_EQ(status.error().site().value, left);
  EXPECT_THAT(status.error().expected(), HasSubstr("value " + std::to_string(a) + " for instruction 2"));
  EXPECT_THAT(pairs(plan), ElementsAre(Pair(1, 2)));
}

}  // namespace
}  // namespace tandem::runtime
