#include "fixture.h"
#include "runtime/lower/lower.h"
#include "runtime/order/order_check.h"
#include "support/event_plan.h"
#include "support/planted_faults.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// The order check on real programs.

namespace tandem {
namespace {

using runtime::StreamPlan;
using ::testing::Contains;
using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

std::shared_ptr<const Program> load(const std::string& fixture) {
  const Fixture files{fixture};
  auto program = Program::load(files.program(), files.data_files());
  EXPECT_TRUE(program.ok()) << program.error().to_string();
  return program.ok() ? *std::move(program) : nullptr;
}

std::vector<Pair> pairs(const runtime::Schedule& schedule, const StreamPlan& plan) {
  std::vector<Pair> pairs;
  for (const runtime::Conflict& found : find_conflicts(schedule, plan)) pairs.emplace_back(found.first, found.second);
  return pairs;
}

class OrderOfFixtureTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Calls `fn(program, method name)` for every method.
  template <class Fn>
  static void for_each_method(Fn&& fn) {
    const auto program = load(GetParam());
    ASSERT_NE(program, nullptr);
    for (const std::string_view method : program->method_names()) fn(program, method);
  }
};

TEST_P(OrderOfFixtureTest, DefaultPlansRaiseNoAlarm) {
  for_each_method([](const std::shared_ptr<const Program>& program, std::string_view name) {
    for (const StreamPolicy policy : {StreamPolicy::PerThread, StreamPolicy::PerMethod}) {
      const auto method = Method::load(program, name, {.streams = policy});
      ASSERT_TRUE(method.ok()) << method.error().to_string();
      EXPECT_TRUE(check_order((*method)->schedule()).ok());
    }
  });
}

TEST_P(OrderOfFixtureTest, EventsOrderAStreamPerDelegateAndEachIsNeeded) {
  for_each_method([](const std::shared_ptr<const Program>& program, std::string_view name) {
    const auto method = Method::load(program, name);
    ASSERT_TRUE(method.ok()) << method.error().to_string();
    const runtime::Schedule& schedule = (*method)->schedule();
    const StreamPlan plan = testing::event_plan(schedule);
    EXPECT_THAT(pairs(schedule, plan), IsEmpty());
    for (std::size_t n = 0; n < testing::wait_count(plan); ++n) {
      const testing::WaitEdge edge = testing::wait_edge(plan, n);
      EXPECT_THAT(pairs(schedule, testing::drop_wait(plan, n)), Contains(Pair(edge.from, edge.to))) << "wait " << n;
    }
  });
}

TEST_P(OrderOfFixtureTest, RacesAreRefusedUnlessAllowed) {
  for_each_method([](const std::shared_ptr<const Program>& program, std::string_view name) {
    const auto raced = Method::load(program, name, {.streams = StreamPolicy::PerDelegate, .allow_races = true});
    ASSERT_TRUE(raced.ok()) << raced.error().to_string();
    const runtime::Schedule& schedule = (*raced)->schedule();
    const bool ordered = find_conflicts(schedule, schedule.streams).empty();
    const auto checked = Method::load(program, name, {.streams = StreamPolicy::PerDelegate});
    EXPECT_EQ(checked.ok(), ordered);
    if (!checked.ok()) {
      EXPECT_EQ(checked.error().code(), ErrorCode::OrderViolation);
    }
  });
}

std::vector<std::string> all_fixtures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{TANDEM_FIXTURES}) {
    if (std::filesystem::exists(entry.path() / "meta.json")) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Fixtures, OrderOfFixtureTest, ::testing::ValuesIn(all_fixtures()),
                         [](const auto& fixture) { return fixture.param; });

TEST(OrderTest, ARealChainRacesOnAStreamPerDelegate) {
  const auto program = load("split25");
  const auto raced = Method::load(program, "forward", {.streams = StreamPolicy::PerDelegate, .allow_races = true});
  ASSERT_TRUE(raced.ok()) << raced.error().to_string();
  const runtime::Schedule& schedule = (*raced)->schedule();
  const auto found = pairs(schedule, schedule.streams);
  EXPECT_GE(found.size(), 24U);
  for (std::uint32_t i = 0; i + 1 < schedule.steps.size(); ++i) EXPECT_THAT(found, Contains(Pair(i, i + 1)));

  const auto refused = Method::load(program, "forward", {.streams = StreamPolicy::PerDelegate});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(refused.error().site().instruction, 1);
  EXPECT_EQ(refused.error().site().delegate, 1);
  EXPECT_THAT(refused.error().site().file, HasSubstr("split25"));
  EXPECT_EQ(refused.error().found(),
            "nothing makes stream 2 wait for instruction 0 (delegate 0, AotiHostBackend) on stream 1");
}

TEST(OrderTest, OneDelegateHasNothingToRaceWith) {
  const auto method = Method::load(load("add"), "forward", {.streams = StreamPolicy::PerDelegate});
  EXPECT_TRUE(method.ok()) << method.error().to_string();
}

}  // namespace
}  // namespace tandem
