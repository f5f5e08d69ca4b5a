#include "cli/picture/order_svg.h"

#include "runtime/lower/lower.h"
#include "support/event_plan.h"
#include "support/function_backend.h"
#include "support/method_builder.h"
#include "unit/cli/picture/xml_check.h"

#include <gtest/gtest.h>

#include <memory>

namespace tandem::cli {
namespace {

using runtime::Conflict;
using runtime::Schedule;
using runtime::StreamPlan;
using testing::MethodBuilder;
using testing::occurrences;
using testing::xml_fault;

constexpr std::string_view kMissingEdge = "stroke='#dc2626'";

class OrderSvgTest : public ::testing::Test {
 protected:
  /// A chain of delegates; every `host_step`-th step is an operator.
  std::unique_ptr<Schedule> chain(int steps, int host_step = 0, const char* id = "F") {
    EXPECT_TRUE(
        b.backends.register_backend(id, std::make_shared<testing::FunctionBackend>(1, testing::add_number(1))).ok());
    std::int32_t last = b.tensor({4}, 0);
    b.inputs({last});
    for (int i = 0; i < steps; ++i) {
      const std::int32_t next = b.tensor({4}, 16 * (i + 1));
      if (host_step != 0 && i % host_step == 0) {
        b.kernel("aten::neg.out", {last, next, next});
      } else {
        b.delegate(id, {last, next});
      }
      last = next;
    }
    b.outputs({last});
    auto lowered = b.lower();
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return *std::move(lowered);
  }

  static std::string draw(const Schedule& schedule, const StreamPlan& plan) {
    const std::vector<Conflict> conflicts = runtime::find_conflicts(schedule, plan);
    std::string svg = order_svg(schedule, plan, conflicts, "title").value();
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(occurrences(svg, "data-step='"), schedule.steps.size());
    return svg;
  }

  MethodBuilder b;
};

TEST_F(OrderSvgTest, AStreamPerDelegateHasALaneEachAndAMissingEdgeBetweenThem) {
  const auto schedule = chain(25);
  const std::string svg = draw(*schedule, runtime::plan_streams(*schedule, StreamPolicy::PerDelegate));
  for (int lane = 1; lane <= 25; ++lane)
    EXPECT_NE(svg.find(">stream " + std::to_string(lane) + "<"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "stroke-dasharray='5 3' marker-end"), 24U);
  EXPECT_NE(svg.find("24 conflicts in 24 pairs of steps that nothing orders"), std::string::npos);
  EXPECT_NE(svg.find("For example: instruction 0 (delegate 0, F) on stream 1 writes"), std::string::npos);
}

TEST_F(OrderSvgTest, OneStreamHasNoRed) {
  const auto schedule = chain(25);
  const std::string svg = draw(*schedule, schedule->streams);
  EXPECT_EQ(occurrences(svg, kMissingEdge), 0U);
  EXPECT_NE(svg.find("every pair of accesses to the same bytes is ordered"), std::string::npos);
}

TEST_F(OrderSvgTest, ShowsHostStepsAndWaits) {
  const auto schedule = chain(7, 3);
  const std::string svg = draw(*schedule, runtime::plan_streams(*schedule, StreamPolicy::PerDelegate));
  EXPECT_NE(svg.find(">host<"), std::string::npos);
  EXPECT_NE(svg.find(">neg<"), std::string::npos);
  EXPECT_NE(svg.find("the host waits"), std::string::npos);
}

TEST_F(OrderSvgTest, ShowsEventsInsteadOfMissingEdges) {
  const auto schedule = chain(6);
  const std::string svg = draw(*schedule, testing::event_plan(*schedule));
  EXPECT_EQ(occurrences(svg, kMissingEdge), 0U);
  EXPECT_GE(occurrences(svg, "marker-end='url(#arrow-0f766e)'"), 5U);
}

TEST_F(OrderSvgTest, ALongPlanContinuesBelow) {
  const auto schedule = chain(200);
  const std::string svg = draw(*schedule, runtime::plan_streams(*schedule, StreamPolicy::PerDelegate));
  const std::size_t at = svg.find("width='") + 7;
  EXPECT_LE(std::stoi(svg.substr(at)), 1400);
}

TEST_F(OrderSvgTest, EscapesHostileNames) {
  const auto schedule = chain(3, 0, "</svg><script>&\x01\xff");
  const std::string svg = draw(*schedule, runtime::plan_streams(*schedule, StreamPolicy::PerDelegate));
  EXPECT_EQ(occurrences(svg, "</svg>"), 1U);
}

TEST_F(OrderSvgTest, DrawsNoSteps) {
  const Schedule schedule;
  EXPECT_EQ(xml_fault(order_svg(schedule, {}, {}, "title").value()), "");
}

TEST_F(OrderSvgTest, RefusesWhatNobodyCouldRead) {
  Schedule schedule;
  schedule.steps.resize(2'001);
  const auto refused = order_svg(schedule, {}, {}, "title");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::cli
