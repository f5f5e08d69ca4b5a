#include "bench/suite/goal.h"

#include <gtest/gtest.h>

#include <optional>

namespace tandem::suite {
namespace {

Comparison than_other(double ratio, double difference) {
  return {.against = "raw", .ratio = {ratio, ratio, ratio}, .difference = {difference, difference, difference}};
}

TEST(GoalTest, OneOfRatioAndExtraIsEnough) {
  const Goal goal{.ratio = 1.03, .extra = 1};
  EXPECT_TRUE(meets(goal, than_other(1.02, 5), {}, 1));
  EXPECT_TRUE(meets(goal, than_other(1.5, 0.9), {}, 1));
  EXPECT_FALSE(meets(goal, than_other(1.5, 5), {}, 1));
}

TEST(GoalTest, HostTimeCountsByItself) {
  const Goal goal{.ratio = 1.03, .host = 4};
  EXPECT_TRUE(meets(goal, than_other(1, 0), 3.5, 1));
  EXPECT_FALSE(meets(goal, than_other(1, 0), 4.5, 1));
  EXPECT_FALSE(meets(goal, than_other(1, 0), std::nullopt, 1)) << "nobody measured it";
}

TEST(GoalTest, PerPartIsTheDifferenceOfTheWholeCall) {
  const Goal goal{.per_part = 0.04};
  EXPECT_TRUE(meets(goal, than_other(20, 0.9), {}, 25));
  EXPECT_FALSE(meets(goal, than_other(20, 1.1), {}, 25));
}

TEST(GoalTest, HostExtraNeedsBothHostTimes) {
  const Goal goal{.host_extra = 0.3};
  Comparison comparison = than_other(1, 0);
  EXPECT_FALSE(meets(goal, comparison, 1, 1));
  comparison.host_difference = Spread{0.2, 0.1, 0.5};
  EXPECT_TRUE(meets(goal, comparison, 1, 1));
}

TEST(GoalTest, WithoutTheOtherWayItIsMissed) {
  EXPECT_FALSE(meets({.ratio = 1}, std::nullopt, {}, 1));
  EXPECT_TRUE(meets({}, std::nullopt, {}, 1));
}

TEST(GoalTest, SaysWhatItAsksFor) {
  EXPECT_EQ((Goal{.ratio = 1.03, .extra = 1, .host = 4}).text(), "<= 1.03 or +1 us; host <= 4 us");
  EXPECT_EQ((Goal{.ratio = 1.05}).text(), "<= 1.05");
  EXPECT_EQ((Goal{.extra = 1}).text(), "<= +1 us");
  EXPECT_EQ((Goal{.per_part = 0.04}).text(), "<= +40 ns each");
  EXPECT_EQ((Goal{.host_extra = 0.3}).text(), "host <= +0.3 us");
  EXPECT_EQ(Goal{}.text(), "");
}

}  // namespace
}  // namespace tandem::suite
