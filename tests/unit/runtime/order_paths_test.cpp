#include "runtime/lower/lower.h"
#include "runtime/order/history.h"
#include "runtime/order/order_check.h"
#include "support/event_plan.h"
#include "support/planted_faults.h"
#include "support/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

// Random schedules with jumps. What the check accepts must be ordered on every path; it never follows one itself.

namespace tandem::runtime {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using Pair = std::pair<std::uint32_t, std::uint32_t>;
using Sync = StreamPlan::Sync;

constexpr int kRounds = testing::kSanitized ? 500 : 5'000;

class OrderPathsTest : public ::testing::Test {
 protected:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random() % n); }

  /// A few steps that touch 4 bytes of one arena, a byte or two at a time.
  void fill(Schedule& schedule) {
    schedule.buffers.push_back({.bytes = 4, .memory_id = 1});
    schedule.delegates.resize(3);
    const std::uint32_t count = 2 + below(5);
    for (std::uint32_t i = 0; i < count; ++i) {
      constexpr std::array kinds{Step::Kind::Delegate, Step::Kind::Delegate, Step::Kind::Delegate, Step::Kind::Kernel,
                                 Step::Kind::JumpFalse};
      Step step{.kind = kinds[below(kinds.size())], .instruction = i};
      step.target = step.kind == Step::Kind::JumpFalse ? below(count + 1) : below(schedule.delegates.size());
      step.first_access = static_cast<std::uint32_t>(schedule.accesses.size());
      step.access_count = step.kind == Step::Kind::JumpFalse ? 0 : 1 + below(2);
      for (std::uint32_t n = 0; n < step.access_count; ++n) {
        const std::uint64_t begin = below(4);
        constexpr std::array modes{AccessMode::Read, AccessMode::Read, AccessMode::Write};
        schedule.accesses.push_back({.value = 0,
                                     .buffer = 0,
                                     .begin = begin,
                                     .end = std::min<std::uint64_t>(4, begin + 1 + below(2)),
                                     .mode = modes[below(modes.size())]});
      }
      schedule.steps.push_back(step);
    }
  }

  /// Any plan at all, with host steps or without.
  StreamPlan any_plan(const Schedule& schedule) {
    StreamPlan plan{.streams = 3, .events = 3};
    const bool has_host_steps = below(2) == 0;
    const auto count = static_cast<std::uint32_t>(schedule.steps.size());
    for (std::uint32_t i = 0; i <= count; ++i) {
      for (std::uint32_t n = below(5); n > 0; --n) {
        const std::uint32_t kind = below(has_host_steps ? 4 : 9);
        plan.syncs.push_back({.kind = kind == 0       ? Sync::Kind::Join
                                      : kind % 2 == 0 ? Sync::Kind::Record
                                                      : Sync::Kind::Wait,
                              .step = i,
                              .stream = below(plan.streams),
                              .event = below(plan.events)});
      }
      if (i < count) plan.stream_of.push_back(has_host_steps && below(3) == 0 ? kNone : below(plan.streams));
    }
    return plan;
  }

  /// What a run does that takes jumps at random.
  std::vector<Action> path(const Schedule& schedule, const StreamPlan& plan, std::span<const ByteAccess> accesses) {
    std::vector<Action> actions;
    const auto syncs_before = [&](std::uint32_t step) {
      for (const Sync& sync : plan.syncs) {
        if (sync.step != step) continue;
        const Action::Kind kind = sync.kind == Sync::Kind::Record ? Action::Kind::Record
                                  : sync.kind == Sync::Kind::Wait ? Action::Kind::Wait
                                                                  : Action::Kind::Join;
        actions.push_back({.kind = kind, .stream = sync.stream, .event = sync.event});
      }
    };
    std::uint32_t at = 0;
    for (int n = 0; n < 20 && at < schedule.steps.size(); ++n) {
      syncs_before(at);
      const Step& step = schedule.steps[at];
      const std::uint32_t stream = plan.stream_of[at];
      actions.push_back({.kind = stream == kNone ? Action::Kind::HostStep : Action::Kind::Submit,
                         .stream = stream,
                         .label = at,
                         .accesses = accesses.subspan(step.first_access, step.access_count)});
      at = step.kind == Step::Kind::JumpFalse && below(2) == 0 ? step.target : at + 1;
    }
    return actions;
  }

  static std::vector<ByteAccess> accesses_of(const Schedule& schedule) {
    std::vector<ByteAccess> accesses;
    for (const Access& access : schedule.accesses) {
      accesses.push_back({.buffer = access.buffer, .begin = access.begin, .end = access.end, .mode = access.mode});
    }
    return accesses;
  }

  static std::vector<Pair> pairs(const Schedule& schedule, const StreamPlan& plan) {
    std::vector<Pair> pairs;
    for (const Conflict& found : find_conflicts(schedule, plan)) pairs.emplace_back(found.first, found.second);
    return pairs;
  }

  static bool has_jump(const Schedule& schedule) {
    for (const Step& step : schedule.steps) {
      if (step.kind == Step::Kind::JumpFalse) return true;
    }
    return false;
  }

  std::mt19937 random{1};
};

TEST_F(OrderPathsTest, WhatIsAcceptedIsOrderedOnEveryPath) {
  int accepted_with_jumps = 0;
  for (int round = 0; round < 4 * kRounds; ++round) {
    Schedule schedule;
    fill(schedule);
    const StreamPlan plan = any_plan(schedule);
    if (!find_conflicts(schedule, plan).empty()) continue;
    accepted_with_jumps += has_jump(schedule) ? 1 : 0;
    const std::vector<ByteAccess> accesses = accesses_of(schedule);
    for (int n = 0; n < 8; ++n) {
      for (const Unordered& pair : find_unordered(path(schedule, plan, accesses))) {
        FAIL() << "round " << round << ": steps " << pair.first << " and " << pair.second;
      }
    }
  }
  EXPECT_GT(accepted_with_jumps, kRounds / 5);
}

TEST_F(OrderPathsTest, EventPlansAreAcceptedAndEveryWaitIsNeeded) {
  for (int round = 0; round < kRounds; ++round) {
    Schedule schedule;
    fill(schedule);
    const StreamPlan plan = testing::event_plan(schedule);
    ASSERT_THAT(pairs(schedule, plan), IsEmpty()) << "round " << round;
    for (std::size_t n = 0; n < testing::wait_count(plan); ++n) {
      const testing::WaitEdge edge = testing::wait_edge(plan, n);
      ASSERT_THAT(pairs(schedule, testing::drop_wait(plan, n)), Contains(Pair(edge.from, edge.to)))
          << "round " << round << ", wait " << n;
    }
  }
}

TEST_F(OrderPathsTest, PlansOfThePoliciesAreAcceptedWhereTheyAreOrdered) {
  for (int round = 0; round < kRounds; ++round) {
    Schedule schedule;
    fill(schedule);
    ASSERT_THAT(pairs(schedule, plan_streams(schedule, StreamPolicy::PerThread)), IsEmpty());
    const StreamPlan plan = plan_streams(schedule, StreamPolicy::PerDelegate);
    const std::vector<ByteAccess> accesses = accesses_of(schedule);
    // Exact for the plans that Tandem makes: what is reported happens on a path.
    std::vector<Pair> on_paths;
    for (int n = 0; n < 64; ++n) {
      for (const Unordered& pair : find_unordered(path(schedule, plan, accesses))) {
        on_paths.emplace_back(pair.first, pair.second);
      }
    }
    for (const Pair& pair : pairs(schedule, plan)) ASSERT_THAT(on_paths, Contains(pair)) << "round " << round;
  }
}

}  // namespace
}  // namespace tandem::runtime
