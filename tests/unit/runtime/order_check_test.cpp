#include "runtime/order/order_check.h"

#include "support/event_plan.h"
#include "support/function_backend.h"
#include "support/method_builder.h"
#include "support/planted_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

using ::testing::ElementsAre;
using testing::event_plan;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MethodBuilder;
using Sync = StreamPlan::Sync;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

class OrderCheckTest : public ::testing::Test {
 protected:
  OrderCheckTest() {
    const auto add = [this](const char* id, std::vector<AccessMode> accesses = {}) {
      EXPECT_TRUE(
          b.backends
              .register_backend(id, std::make_shared<FunctionBackend>(1, testing::add_number(1), std::move(accesses)))
              .ok());
    };
    add("F");
    add("Join", {AccessMode::Read, AccessMode::Read, AccessMode::Write});
    add("Update", {AccessMode::Read, AccessMode::Update, AccessMode::Write});
  }

  Result<std::unique_ptr<Schedule>> lower(StreamPolicy policy, bool allow_races = false) {
    LowerInput input = b.lower_input();
    input.stream_policy = policy;
    input.allow_races = allow_races;
    return runtime::lower(input);
  }
  std::unique_ptr<Schedule> schedule() {
    auto lowered = lower(StreamPolicy::PerThread);
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return *std::move(lowered);
  }
  Error refused() {
    auto lowered = lower(StreamPolicy::PerDelegate);
    EXPECT_FALSE(lowered.ok());
    return lowered.ok() ? Error{ErrorCode::Internal, "accepted"} : std::move(lowered).error();
  }
  void accepted(StreamPolicy policy) {
    const auto lowered = lower(policy);
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
  }
  /// Whatever the method, these plans are right.
  void no_alarm() {
    accepted(StreamPolicy::PerThread);
    accepted(StreamPolicy::PerMethod);
    const auto lowered = schedule();
    EXPECT_THAT(pairs(*lowered, event_plan(*lowered)), IsEmpty());
  }
  static std::vector<Pair> pairs(const Schedule& schedule, const StreamPlan& plan) {
    std::vector<Pair> pairs;
    for (const Conflict& found : find_conflicts(schedule, plan)) pairs.emplace_back(found.first, found.second);
    return pairs;
  }
  static std::string first_text(const Schedule& schedule, const StreamPlan& plan) {
    const auto found = find_conflicts(schedule, plan);
    return found.empty() ? "no conflict" : describe(schedule, plan, found.front());
  }

  /// x -> a -> c -> d, the values in a row in arena 1.
  void chain_of_three() {
    x = b.tensor({4}, 0);
    a = b.tensor({4}, 64);
    c = b.tensor({4}, 128);
    d = b.tensor({4}, 192);
    b.inputs({x}).outputs({d}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d});
  }

  /// A loop of two stretches: step 0 and 1 on side streams, jump back to step 0, step 3.
  void loop() {
    x = b.tensor({4}, 0);
    a = b.tensor({4}, 64);
    c = b.tensor({4}, 128);
    d = b.tensor({4}, 192);
    const auto done = b.flag(true);
    b.inputs({x}).outputs({d});
    b.delegate("F", {x, a}).delegate("F", {a, c}).jump_if_false(done, 0).delegate("F", {c, d});
  }
  /// Each stretch of loop() leaves stream 0 and comes back to it.
  static StreamPlan fork_and_join() {
    StreamPlan plan{.streams = 4, .events = 6, .stream_of = {1, 2, 0, 3}};
    plan.syncs = {{Sync::Kind::Record, 0, 0, 0}, {Sync::Kind::Wait, 0, 1, 0},  // step 0 after stream 0
                  {Sync::Kind::Record, 1, 1, 1}, {Sync::Kind::Wait, 1, 2, 1},  // step 1 after step 0
                  {Sync::Kind::Record, 2, 2, 2}, {Sync::Kind::Wait, 2, 0, 2},  // the jump after step 1
                  {Sync::Kind::Record, 3, 0, 3}, {Sync::Kind::Wait, 3, 3, 3},  // step 3 after the jump
                  {Sync::Kind::Record, 4, 3, 4}, {Sync::Kind::Wait, 4, 0, 4}};
    return plan;
  }

  MethodBuilder b;
  std::int32_t x = 0;
  std::int32_t a = 0;
  std::int32_t c = 0;
  std::int32_t d = 0;
};

TEST_F(OrderCheckTest, OneStreamOrdersAChain) {
  chain_of_three();
  no_alarm();
}

TEST_F(OrderCheckTest, AStreamPerDelegateIsRefusedWithBothStepsNamed) {
  chain_of_three();
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
  EXPECT_EQ(error.site().method, "forward");
  EXPECT_EQ(error.site().chain, 0);
  EXPECT_EQ(error.site().instruction, 1);
  EXPECT_EQ(error.site().delegate, 1);
  EXPECT_EQ(error.site().backend, "F");
  EXPECT_EQ(error.site().value, a);
  EXPECT_EQ(error.expected(), "instruction 0 (delegate 0, F) on stream 1 writes value " + std::to_string(a) +
                                  ", bytes [64, 80) of arena 1, before instruction 1 (delegate 1, F) on stream 2 "
                                  "reads value " +
                                  std::to_string(a));
  EXPECT_EQ(error.found(), "nothing makes stream 2 wait for instruction 0 (delegate 0, F) on stream 1");
}

TEST_F(OrderCheckTest, RacesMayBeAllowed) {
  chain_of_three();
  const auto lowered = lower(StreamPolicy::PerDelegate, true);
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  EXPECT_EQ((*lowered)->streams.streams, 4U);
  EXPECT_THAT(pairs(**lowered, (*lowered)->streams), ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST_F(OrderCheckTest, AConflictHasAccessesAndBytes) {
  chain_of_three();
  const auto lowered = schedule();
  const StreamPlan plan = plan_streams(*lowered, StreamPolicy::PerDelegate);
  const auto found = find_conflicts(*lowered, plan);
  ASSERT_EQ(found.size(), 2U);
  const Access& first = lowered->accesses[found[1].first_access];
  const Access& second = lowered->accesses[found[1].second_access];
  EXPECT_EQ(first.value, static_cast<std::uint32_t>(c));
  EXPECT_EQ(first.mode, AccessMode::Write);
  EXPECT_EQ(second.value, static_cast<std::uint32_t>(c));
  EXPECT_EQ(second.mode, AccessMode::Read);
  EXPECT_EQ(found[1].buffer, first.buffer);
  EXPECT_EQ(found[1].begin, 128U);
  EXPECT_EQ(found[1].end, 144U);
}

TEST_F(OrderCheckTest, DescribesAConflictWithTheValuesName) {
  chain_of_three();
  const auto lowered = schedule();
  lowered->values[static_cast<std::size_t>(a)].name = "layer.cache";
  const StreamPlan plan = plan_streams(*lowered, StreamPolicy::PerDelegate);
  EXPECT_EQ(first_text(*lowered, plan),
            "instruction 0 (delegate 0, F) on stream 1 writes value 1 'layer.cache', bytes [64, 80) of arena 1; "
            "instruction 1 (delegate 1, F) on stream 2 reads value 1 'layer.cache': "
            "nothing makes stream 2 wait for instruction 0 (delegate 0, F) on stream 1");
}

TEST_F(OrderCheckTest, IndependentDelegatesMayHaveStreams) {
  const auto weights = b.constant({1, 2, 3, 4});
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  c = b.tensor({4}, 128);
  b.inputs({x}).outputs({a, c}).delegate("Join", {x, weights, a}).delegate("Join", {x, weights, c});
  accepted(StreamPolicy::PerDelegate);
  no_alarm();
}

TEST_F(OrderCheckTest, CallsOfOneDelegateShareItsStream) {
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  d = b.tensor({4}, 128);
  b.inputs({x}).outputs({d}).delegate("F", {x, a}).call(0, {a, d});
  accepted(StreamPolicy::PerDelegate);
}

TEST_F(OrderCheckTest, ReusedBytesConflictToo) {
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  c = b.tensor({4}, 128);
  d = b.tensor({4}, 64);  // takes a's bytes after its last reader
  const auto e = b.tensor({4}, 192);
  b.inputs({x}).outputs({c, e}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {x, d}).delegate("F", {d, e});
  no_alarm();
  const auto lowered = schedule();
  EXPECT_THAT(pairs(*lowered, plan_streams(*lowered, StreamPolicy::PerDelegate)),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2), Pair(2, 3)));
}

TEST_F(OrderCheckTest, InputsAndStatesAreBuffers) {
  x = b.tensor({4}, 0);
  const auto cache = b.state({4}, 256, {1, 2, 3, 4});
  a = b.tensor({4}, 64);
  c = b.tensor({4}, 128);
  const auto e = b.tensor({4}, 192);
  b.inputs({x}).outputs({a, c, e});
  b.delegate("F", {x, a}).delegate("Update", {cache, x, c}).delegate("Update", {a, cache, e});
  no_alarm();
  const auto lowered = schedule();
  const StreamPlan plan = plan_streams(*lowered, StreamPolicy::PerDelegate);
  EXPECT_THAT(pairs(*lowered, plan), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
  EXPECT_THAT(first_text(*lowered, plan), HasSubstr("bytes [0, 16) of the memory of value " + std::to_string(x) +
                                                    "; instruction 1 (delegate 1, "
                                                    "Update) on stream 2 updates"));
}

TEST_F(OrderCheckTest, AHostStepNeedsItsJoin) {
  chain_of_three();
  const auto shape = b.numbers({b.number(2), b.number(2)});
  const auto e = b.tensor({2, 2}, 256);
  b.outputs({e}).kernel("aten::view_copy.out", {d, shape, e, e});
  const auto lowered = schedule();
  StreamPlan plan = event_plan(*lowered);
  ASSERT_EQ(testing::join_count(plan), 1U);
  EXPECT_THAT(pairs(*lowered, plan), IsEmpty());
  plan = testing::drop_join(std::move(plan), 0);
  const auto found = find_conflicts(*lowered, plan);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().first, 2U);
  EXPECT_EQ(found.front().second, 3U);
  EXPECT_THAT(first_text(*lowered, plan),
              HasSubstr("on the host reads value " + std::to_string(d) +
                        ": nothing makes the host wait for instruction 2 (delegate 2, F) on stream 3"));
}

TEST_F(OrderCheckTest, WhatFollowsTheMethodNeedsAnOrderToo) {
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  b.inputs({x}).outputs({a}).delegate("F", {x, a});
  const auto lowered = schedule();
  StreamPlan plan = plan_streams(*lowered, StreamPolicy::PerDelegate);
  EXPECT_THAT(pairs(*lowered, plan), IsEmpty());
  plan.syncs.clear();
  const auto found = find_conflicts(*lowered, plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().first, 0U);
  EXPECT_EQ(found.front().second, 1U);  // the number of steps
  EXPECT_EQ(found.front().second_access, kNone);
  EXPECT_EQ(first_text(*lowered, plan),
            "instruction 0 (delegate 0, F) on stream 1 writes value 1, bytes [0, 16) of the memory of value 1; the "
            "method ends: nothing makes the end of the method wait for instruction 0 (delegate 0, "
            "F) on stream 1");
  lowered->streams = plan;
  const Status status = check_order(*lowered);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(status.error().site().instruction, 0);
  EXPECT_EQ(status.error().site().value, a);
}

TEST_F(OrderCheckTest, JumpsOnOneStreamRaiseNoAlarm) {
  loop();
  no_alarm();
}

TEST_F(OrderCheckTest, AJumpNeedsItsJoin) {
  loop();
  const auto lowered = schedule();
  const StreamPlan plan = event_plan(*lowered);
  ASSERT_EQ(testing::join_count(plan), 1U);
  // Step 1 may still run when step 0 runs again, and when step 3 reads what it wrote.
  EXPECT_THAT(pairs(*lowered, testing::drop_join(plan, 0)), ElementsAre(Pair(0, 1), Pair(1, 3)));
}

TEST_F(OrderCheckTest, AJumpTargetNeedsItsJoin) {
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  d = b.tensor({4}, 128);
  const auto flag = b.flag(true);
  b.inputs({x}).outputs({d}).delegate("F", {x, a}).jump_if_false(flag, 3).delegate("F", {x, a}).delegate("F", {a, d});
  no_alarm();
  const auto lowered = schedule();
  const StreamPlan plan = event_plan(*lowered);
  ASSERT_EQ(testing::join_count(plan), 2U);
  EXPECT_THAT(pairs(*lowered, testing::drop_join(plan, 1)), ElementsAre(Pair(2, 3)));
  EXPECT_THAT(pairs(*lowered, testing::drop_join(plan, 0)), ElementsAre(Pair(0, 2), Pair(0, 3)));
}

TEST_F(OrderCheckTest, BranchesThatShareBytesRaiseNoAlarm) {
  x = b.tensor({4}, 0);
  a = b.tensor({4}, 64);
  c = b.tensor({4}, 64);
  const auto merged = b.tensor({4});
  d = b.tensor({4}, 256);
  const auto flag = b.flag(false);
  const auto never = b.flag(false);
  b.inputs({x}).outputs({d});
  b.jump_if_false(flag, 4).delegate("F", {x, a}).move(a, merged).jump_if_false(never, 6);
  b.delegate("F", {x, c}).move(c, merged).delegate("F", {merged, d});
  no_alarm();
}

TEST_F(OrderCheckTest, StretchesMayForkFromStreamZeroAndComeBack) {
  loop();
  const auto lowered = schedule();
  EXPECT_THAT(pairs(*lowered, fork_and_join()), IsEmpty());
}

TEST_F(OrderCheckTest, AStretchMustComeBackToStreamZero) {
  loop();
  const auto lowered = schedule();
  EXPECT_THAT(pairs(*lowered, testing::drop_wait(fork_and_join(), 1)), ElementsAre(Pair(0, 1), Pair(1, 3)));
}

TEST_F(OrderCheckTest, AStretchMustComeAfterStreamZero) {
  loop();
  const auto lowered = schedule();
  EXPECT_THAT(pairs(*lowered, testing::drop_wait(fork_and_join(), 2)), ElementsAre(Pair(1, 3)));
}

TEST_F(OrderCheckTest, ALoopMustComeAfterStreamZero) {
  loop();
  const auto lowered = schedule();
  StreamPlan plan = fork_and_join();
  plan.syncs.erase(plan.syncs.begin() + 1);  // step 0 no longer waits for the stretch before
  EXPECT_THAT(pairs(*lowered, plan), ElementsAre(Pair(0, 1)));
}

TEST_F(OrderCheckTest, AnEmptyMethodHasNoConflicts) {
  b.inputs({}).outputs({});
  no_alarm();
}

}  // namespace
}  // namespace tandem::runtime
