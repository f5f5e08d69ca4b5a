#include "cli/timing.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::cli {
namespace {

using namespace std::chrono_literals;

TEST(PercentileTest, TakesTheNearestRank) {
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 1; i <= 200; ++i) times.push_back(i * 1ns);
  EXPECT_EQ(percentile(times, 50), 100ns);
  EXPECT_EQ(percentile(times, 99), 198ns);
  EXPECT_EQ(percentile(times, 100), 200ns);
  EXPECT_EQ(percentile(times, 0.1), 1ns);
}

TEST(PercentileTest, OfOneIsThatOne) {
  const std::vector<std::chrono::nanoseconds> times{7ns};
  EXPECT_EQ(percentile(times, 50), 7ns);
  EXPECT_EQ(percentile(times, 99), 7ns);
}

TEST(ToUsTest, KeepsTheFraction) { EXPECT_DOUBLE_EQ(to_us(1500ns), 1.5); }

}  // namespace
}  // namespace tandem::cli
