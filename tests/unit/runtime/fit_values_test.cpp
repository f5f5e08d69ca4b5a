#include "runtime/lower/fit_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace tandem::runtime {
namespace {

using ::testing::ElementsAre;

/// Values that live from one step to another.
class Made {
 public:
  void add(std::size_t first, std::size_t last, std::uint64_t bytes, std::uint64_t alignment = 1) {
    values.push_back({.bytes = bytes, .alignment = alignment, .steps = last - first + 1});
    spans.push_back({first, last});
    live.resize(std::max(live.size(), last + 1));
    for (std::size_t step = first; step <= last; ++step) live[step] += bytes;
  }
  [[nodiscard]] bool meet(std::size_t a, std::size_t b) const {
    return spans[a].first <= spans[b].second && spans[b].first <= spans[a].second;
  }
  [[nodiscard]] std::uint64_t peak() const { return std::ranges::max(live); }
  Fit fit() {
    Conflicts conflicts{values.size()};
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t step = spans[i].first; step <= spans[i].second; ++step) {
        values[i].crowd = std::max(values[i].crowd, live[step]);
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (meet(i, j)) conflicts.add(i, j);
      }
    }
    return fit_values(values, conflicts, peak());
  }

  std::vector<FitValue> values;
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  std::vector<std::uint64_t> live;
};

TEST(FitValuesTest, NothingNeedsNothing) {
  EXPECT_EQ(Made{}.values.size() + fit_values({}, Conflicts{0}, 0).bytes, 0U);
}

TEST(FitValuesTest, WhatDoesNotMeetSharesBytes) {
  Made made;
  made.add(0, 1, 128);
  made.add(2, 3, 128);
  const Fit fit = made.fit();
  EXPECT_THAT(fit.offsets, ElementsAre(0, 0));
  EXPECT_EQ(fit.bytes, 128U);
}

TEST(FitValuesTest, AGapBetweenTwoIsFilled) {
  Made made;
  made.add(0, 9, 640);
  made.add(0, 4, 320);
  made.add(0, 9, 256);
  made.add(5, 9, 320);
  EXPECT_EQ(made.fit().bytes, made.peak());
}

TEST(FitValuesTest, OffsetsAreAligned) {
  Made made;
  made.add(0, 3, 100);
  made.add(0, 3, 40);
  made.add(0, 3, 30, 256);
  const Fit fit = made.fit();
  for (const std::uint64_t offset : fit.offsets) EXPECT_EQ(offset % 64, 0U);
  EXPECT_EQ(fit.offsets[2] % 256, 0U);
}

TEST(FitValuesTest, TriesMoreThanTheLargestFirst) {
  Made made;
  made.add(0, 1, 128);
  made.add(0, 0, 256);
  made.add(2, 2, 256);
  made.add(1, 2, 192);
  made.add(1, 3, 128);
  EXPECT_EQ(made.peak(), 576U);
  EXPECT_EQ(made.fit().bytes, 576U) << "704 with the largest first";
}

TEST(FitValuesTest, ValuesOfNoBytesTakeNone) {
  Made made;
  made.add(0, 3, 0);
  made.add(0, 3, 64);
  made.add(1, 2, 0);
  EXPECT_EQ(made.fit().bytes, 64U);
}

Made make_up(std::uint32_t seed, std::size_t count) {
  std::mt19937 random{seed};
  Made made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = random() % count;
    const std::size_t length = random() % 8 == 0 ? random() % count : 1 + random() % 4;
    made.add(first, std::min(first + length, count - 1), 64 * (1 + random() % 4000));
  }
  return made;
}

TEST(MadeUpFitTest, NeverOverlapsAndStaysCloseToThePeak) {
  double sum = 0;
  constexpr std::uint32_t kCount = 200;
  for (std::uint32_t seed = 0; seed < kCount; ++seed) {
    SCOPED_TRACE(seed);
    Made made = make_up(seed, 4 + seed / 2);
    const Fit fit = made.fit();
    for (std::size_t i = 0; i < made.values.size(); ++i) {
      const std::uint64_t end = fit.offsets[i] + made.values[i].bytes;
      ASSERT_LE(end, fit.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool apart = end <= fit.offsets[j] || fit.offsets[j] + made.values[j].bytes <= fit.offsets[i];
        ASSERT_TRUE(apart || !made.meet(i, j)) << i << " and " << j;
      }
    }
    ASSERT_GE(fit.bytes, made.peak());
    sum += static_cast<double>(fit.bytes) / static_cast<double>(made.peak());
    ASSERT_EQ(made.fit().offsets, fit.offsets) << "the same every time";
  }
  EXPECT_LT(sum / kCount, 1.03);
}

}  // namespace
}  // namespace tandem::runtime
