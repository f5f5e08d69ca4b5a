#include "cli/picture/arena_svg.h"

#include "runtime/lower/lower.h"
#include "support/function_backend.h"
#include "support/method_builder.h"
#include "unit/cli/picture/xml_check.h"

#include <gtest/gtest.h>

#include <memory>

namespace tandem::cli {
namespace {

using runtime::Schedule;
using testing::MethodBuilder;
using testing::occurrences;
using testing::xml_fault;

class ArenaSvgTest : public ::testing::Test {
 protected:
  /// `steps` delegates in a row; each value between two is in use at two steps.
  std::unique_ptr<Schedule> chain(int steps, const char* id = "F") {
    EXPECT_TRUE(
        b.backends.register_backend(id, std::make_shared<testing::FunctionBackend>(1, testing::add_number(1))).ok());
    std::int32_t last = b.tensor({16}, 0);
    b.inputs({last});
    for (int i = 0; i < steps; ++i) {
      const std::int32_t next = b.tensor({16}, 64 * (1 + i % 2));
      b.delegate(id, {last, next});
      last = next;
    }
    b.outputs({last});
    auto lowered = b.lower();
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return *std::move(lowered);
  }

  static std::string draw(const Schedule& schedule, std::string_view title = "title") {
    std::string svg = arena_svg(schedule, title);
    EXPECT_EQ(xml_fault(svg), "");
    return svg;
  }

  MethodBuilder b;
};

TEST_F(ArenaSvgTest, HasABoxForEachValueWithItsBytesAndSteps) {
  const std::string svg = draw(*chain(5));
  EXPECT_EQ(occurrences(svg, "data-value='"), 4U);
  EXPECT_NE(svg.find("<title>v1: 64 bytes at +64, from step 0 to step 1</title>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("arena 1 on host: 192 bytes for 4 values, at most 128 in use at once (step 1)"),
            std::string::npos);
}

TEST_F(ArenaSvgTest, IsDescribedInWords) {
  const std::string svg = draw(*chain(5));
  EXPECT_NE(svg.find("<desc>Where values lie in memory from step to step. arena 1 on host: 192 bytes"),
            std::string::npos);
}

TEST_F(ArenaSvgTest, EveryArenaIsDrawn) {
  const auto x = b.tensor({16}, 0);
  const auto planned = b.tensor({16}, 64);
  const auto unplanned = b.tensor({16});
  const auto y = b.tensor({16}, 128);
  EXPECT_TRUE(
      b.backends.register_backend("F", std::make_shared<testing::FunctionBackend>(1, testing::add_number(1))).ok());
  b.inputs({x})
      .outputs({y})
      .delegate("F", {x, planned})
      .delegate("F", {planned, unplanned})
      .delegate("F", {unplanned, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  const std::string svg = draw(**lowered);
  EXPECT_NE(svg.find(">arena 1 on host: "), std::string::npos);
  EXPECT_NE(svg.find(">Tandem&#39;s own arena on host: "), std::string::npos);
}

TEST_F(ArenaSvgTest, SaysThatThereIsNone) {
  EXPECT_NE(draw(*chain(1)).find("No arena"), std::string::npos);
  EXPECT_NE(draw(Schedule{}).find("No arena"), std::string::npos);
}

TEST_F(ArenaSvgTest, SaysWhatJumpsMean) {
  const auto x = b.tensor({16}, 0);
  EXPECT_EQ(draw(*chain(3)).find("jump"), std::string::npos);
  b.jump_if_false(b.flag(true), 0);
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_NE(draw(**lowered).find("Drawn as if no jump were taken."), std::string::npos) << x;
}

TEST_F(ArenaSvgTest, OfThousandsOfValuesTheLargestAreDrawn) {
  const std::string svg = draw(*chain(5'001));
  EXPECT_EQ(occurrences(svg, "data-value='"), 4'000U);
  EXPECT_NE(svg.find("Of arena 1 on host, the 4000 largest of 5000 values."), std::string::npos);
  const std::size_t at = svg.find("width='") + 7;
  EXPECT_LE(std::stoi(svg.substr(at)), 1400);
}

TEST_F(ArenaSvgTest, EscapesHostileNames) {
  const auto schedule = chain(3, "</svg><script>&\x01\xff");
  schedule->values[1].name = "<b>&'\x02";
  EXPECT_EQ(occurrences(draw(*schedule, "</title>\x03"), "</svg>"), 1U);
}

}  // namespace
}  // namespace tandem::cli
