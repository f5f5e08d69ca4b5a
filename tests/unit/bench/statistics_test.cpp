#include "bench/suite/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tandem::suite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SpreadTest, IsTheMiddleAndTheEnds) {
  const Spread odd = spread_of({5, 1, 9});
  EXPECT_EQ(odd.median, 5);
  EXPECT_EQ(odd.lowest, 1);
  EXPECT_EQ(odd.highest, 9);
  EXPECT_EQ(spread_of({1, 2, 4, 100}).median, 3);
  EXPECT_EQ(spread_of({}).median, 0);
}

TEST(PercentileTest, IsANumberThatWasTaken) {
  std::vector<double> numbers;
  for (int i = 200; i > 0; --i) numbers.push_back(i);
  EXPECT_EQ(percentile(numbers, 99), 198);
  EXPECT_EQ(percentile(numbers, 100), 200);
  EXPECT_EQ(percentile(numbers, 0), 1);
  EXPECT_EQ(percentile({7}, 99), 7);
  EXPECT_EQ(percentile({}, 99), 0);
}

TEST(BlockMediansTest, CutInTheOrderOfTheNumbers) {
  const std::vector<double> numbers{1, 3, 2, 10, 30, 20};
  EXPECT_THAT(block_medians(numbers, 2), ElementsAre(2, 20));
  EXPECT_THAT(block_medians(numbers, 4), ElementsAre(1, 2.5, 10, 25)) << "nearly equal pieces";
  EXPECT_THAT(block_medians(std::vector<double>{4, 5}, 10), ElementsAre(4, 5));
  EXPECT_THAT(block_medians({}, 10), IsEmpty());
}

TEST(PairedTest, WhatBothBlocksSufferCancels) {
  const std::vector<double> mine{11, 110, 1100};
  const std::vector<double> theirs{10, 100, 1000};
  const Spread ratio = paired_ratios(mine, theirs);
  EXPECT_DOUBLE_EQ(ratio.median, 1.1);
  EXPECT_DOUBLE_EQ(ratio.highest, 1.1);
  EXPECT_EQ(paired_differences(mine, theirs).median, 10);
}

}  // namespace
}  // namespace tandem::suite
