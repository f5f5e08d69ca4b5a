#include "runtime/order/stream_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <utility>

namespace tandem::runtime {
namespace {

TEST(StreamClockTest, KnowsNothingAtFirst) {
  const StreamClock clock;
  EXPECT_EQ(clock.until(0), 0U);
  EXPECT_EQ(clock.until(UINT32_MAX - 1), 0U);
}

TEST(StreamClockTest, NeverForgets) {
  StreamClock clock;
  clock.raise(5, 7);
  clock.raise(5, 3);
  EXPECT_EQ(clock.until(5), 7U);
  EXPECT_EQ(clock.until(4), 0U);
}

TEST(StreamClockTest, CopiesGoTheirOwnWays) {
  StreamClock clock;
  clock.raise(5, 7);
  StreamClock copy = clock;
  copy.raise(5, 8);
  copy.raise(500, 1);
  EXPECT_EQ(clock.until(5), 7U);
  EXPECT_EQ(clock.until(500), 0U);
  EXPECT_EQ(copy.until(5), 8U);
}

TEST(StreamClockTest, MergesLikeMapsOfNumbers) {
  using Map = std::map<std::uint32_t, std::uint32_t>;
  constexpr std::array<std::uint32_t, 9> streams{0, 1, 63, 64, 127, 128, 1'000, 1'000'000, UINT32_MAX - 1};
  std::mt19937 random{1};
  std::array<std::pair<StreamClock, Map>, 4> clocks{};
  for (std::uint32_t round = 1; round <= 2'000; ++round) {
    auto& [clock, map] = clocks[random() % clocks.size()];
    const auto& [other_clock, other_map] = clocks[random() % clocks.size()];
    switch (random() % 8) {
      case 0:
        clock = {};
        map = {};
        break;
      case 1:
      case 2:
        clock.merge(StreamClock{other_clock});
        for (const auto& [stream, until] : Map{other_map}) map[stream] = std::max(map[stream], until);
        break;
      default: {
        const std::uint32_t stream = streams[random() % streams.size()];
        clock.raise(stream, round);
        map[stream] = std::max(map[stream], round);
      }
    }
    for (const std::uint32_t stream : streams) ASSERT_EQ(clock.until(stream), map[stream]) << "round " << round;
  }
}

}  // namespace
}  // namespace tandem::runtime
