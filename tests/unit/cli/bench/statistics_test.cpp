#include "cli/bench/statistics.h"

#include <gtest/gtest.h>

namespace tandem::cli::bench {
namespace {

using std::chrono::nanoseconds;

Times times(std::initializer_list<int> all) {
  Times made;
  for (const int one : all) made.emplace_back(one);
  return made;
}

TEST(SpreadTest, OfTimesInAnyOrder) {
  Times all;
  for (int i = 100; i > 0; --i) all.emplace_back(i);
  const auto spread = spread_of(all);
  ASSERT_TRUE(spread.has_value());
  EXPECT_EQ(spread->min, nanoseconds{1});
  EXPECT_EQ(spread->p50, nanoseconds{50});
  EXPECT_EQ(spread->p90, nanoseconds{90});
  EXPECT_EQ(spread->p99, nanoseconds{99});
  EXPECT_EQ(spread->max, nanoseconds{100});
  EXPECT_EQ(median_of(times({9, 1, 5})), nanoseconds{5});
}

TEST(SpreadTest, OfNothingIsNothing) { EXPECT_FALSE(spread_of({}).has_value()); }

TEST(RatioTest, IsTheMedianOfTheBlocksRatios) {
  const auto ratio = ratio_of(times({20, 30, 80}), times({10, 10, 20}));
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->median, 3);
  EXPECT_DOUBLE_EQ(ratio->lowest, 2);
  EXPECT_DOUBLE_EQ(ratio->highest, 4);
}

TEST(RatioTest, CountsBlocksThatBothHave) {
  EXPECT_DOUBLE_EQ(ratio_of(times({20}), times({10, 1}))->highest, 2);
  EXPECT_FALSE(ratio_of(times({}), times({10})).has_value());
}

TEST(RatioTest, ATimeOfNothingDividesNothingByZero) { EXPECT_DOUBLE_EQ(ratio_of(times({5}), times({0}))->median, 5); }

TEST(ResolutionTest, IsWhatNineBlocksOfTenKeep) {
  const Times eager = times({100, 100, 100, 100, 100, 100, 100, 100, 100, 100});
  const Times again = times({101, 99, 102, 98, 103, 100, 100, 104, 97, 300});
  EXPECT_NEAR(*resolution_of(eager, again), 0.04, 1e-12);
  EXPECT_FALSE(resolution_of(times({100}), times({100})).has_value());
}

TEST(SameTest, IsWithinTheResolution) {
  EXPECT_TRUE(is_same(1.03, 0.04));
  EXPECT_TRUE(is_same(0.97, 0.04));
  EXPECT_FALSE(is_same(1.05, 0.04));
  EXPECT_FALSE(is_same(1, std::nullopt));
}

}  // namespace
}  // namespace tandem::cli::bench
