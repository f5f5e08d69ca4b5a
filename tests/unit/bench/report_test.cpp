#include "bench/suite/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::suite {
namespace {

using ::testing::HasSubstr;

Report example() {
  Report report{.machine = "some machine", .rounds = 5};
  Measurement& measurement = report.measurements.emplace_back();
  measurement.scenario = "null";
  measurement.name = "25";
  measurement.rounds = 5;
  measurement.lines.push_back({.way = "Tandem",
                               .time = {10.5, 10, 11},
                               .p99 = 12,
                               .host = Spread{3, 2, 4},
                               .ratio = Comparison{.against = "raw", .ratio = {1.05, 1.04, 1.06}},
                               .goal = "<= 1.03",
                               .is_met = false});
  measurement.lines.push_back({.way = "raw", .time = {10, 9, 11}, .p99 = 11});
  report.facts.push_back({.scenario = "null", .name = "launches", .found = 1, .exactly = 1});
  return report;
}

TEST(ReportTest, AMissedGoalIsGood) { EXPECT_TRUE(example().is_good(/*and_counts=*/true)); }

TEST(ReportTest, AWrongResultIsNot) {
  Report report = example();
  report.measurements[0].lines[1].fault = "wrong";
  EXPECT_FALSE(report.is_good(/*and_counts=*/false));
}

TEST(ReportTest, AFailedScenarioIsNot) {
  Report report = example();
  report.failures.push_back({"pool", "no threads"});
  EXPECT_FALSE(report.is_good(/*and_counts=*/false));
  EXPECT_THAT(text_of(report), HasSubstr("FAILED: no threads"));
  EXPECT_THAT(markdown_of(report), HasSubstr("- failed: no threads"));
  EXPECT_EQ(json_of(report)["failures"][0]["reason"], "no threads");
}

TEST(ReportTest, ACountThatIsOffMattersIfItIsAskedFor) {
  Report report = example();
  report.facts[0].found = 2;
  EXPECT_TRUE(report.is_good(/*and_counts=*/false));
  EXPECT_FALSE(report.is_good(/*and_counts=*/true));
  report.facts[0] = {.scenario = "null", .name = "bytes", .found = 11, .at_most = 10};
  EXPECT_FALSE(report.is_good(/*and_counts=*/true));
  EXPECT_THAT(text_of(report), HasSubstr("bytes: 11 (<= 10, missed)"));
}

TEST(ReportTest, TextHasTheLines) {
  const std::string text = text_of(example());
  EXPECT_THAT(text, HasSubstr("some machine; 5 rounds"));
  EXPECT_THAT(text, HasSubstr("10.5 [10.0..11.0]"));
  EXPECT_THAT(text, HasSubstr("1.050 [1.040..1.060] of raw"));
  EXPECT_THAT(text, HasSubstr("<= 1.03: missed"));
  EXPECT_THAT(text, HasSubstr("launches: 1 (= 1)"));
}

TEST(ReportTest, MarkdownIsATable) {
  const std::string text = markdown_of(example());
  EXPECT_THAT(
      text,
      HasSubstr("| 25 | Tandem | 10.5 [10.0..11.0] | 12.0 | 3.00 | 1.050 [1.040..1.060] of raw | <= 1.03: missed |\n"));
  EXPECT_THAT(text, HasSubstr("|  | raw | 10.0 [9.00..11.0] | 11.0 |  |  |  |\n"));
}

TEST(ReportTest, JsonHasWhatWasMeasuredAndNullElsewhere) {
  const auto json = json_of(example());
  const auto& ways = json["cases"][0]["ways"];
  EXPECT_EQ(ways[0]["us"]["median"], 10.5);
  EXPECT_EQ(ways[0]["host_us"]["highest"], 4);
  EXPECT_EQ(ways[0]["against"], "raw");
  EXPECT_EQ(ways[0]["met"], false);
  EXPECT_TRUE(ways[1]["ratio"].is_null());
  EXPECT_TRUE(ways[1]["goal"].is_null());
  EXPECT_EQ(json["facts"][0]["exactly"], 1);
  EXPECT_TRUE(json["facts"][0]["at_most"].is_null());
}

TEST(ReportTest, AVoidRowHasNoNumbers) {
  Report report = example();
  report.measurements[0].lines[0].fault = "wrong result";
  EXPECT_THAT(text_of(report), HasSubstr("void: wrong result"));
  EXPECT_THAT(text_of(report), ::testing::Not(HasSubstr("10.5")));
  EXPECT_FALSE(json_of(report)["cases"][0]["ways"][0].contains("us"));
}

}  // namespace
}  // namespace tandem::suite
