#include "base/strided_overlap.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace tandem::base {
namespace {

using Extents = std::vector<std::int64_t>;

/// Places of all elements, in elements.
std::vector<std::int64_t> places(const Extents& sizes, const Extents& strides) {
  std::vector<std::int64_t> all{0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::vector<std::int64_t> more;
    for (const std::int64_t place : all) {
      for (std::int64_t i = 0; i < sizes[d]; ++i) more.push_back(place + i * strides[d]);
    }
    all = std::move(more);
  }
  return all;
}

TEST(StridedOverlap, OfOneArray) {
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{16, 1}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{1, 8}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{20, 1}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{0, 1}), Overlap::Some);
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{1, 1}), Overlap::Some);
  EXPECT_EQ(overlaps_itself(Extents{8, 16}, Extents{15, 1}), Overlap::Some);
  EXPECT_EQ(overlaps_itself(Extents{1, 16}, Extents{0, 1}), Overlap::None) << "an axis of one element";
  EXPECT_EQ(overlaps_itself(Extents{1, 1}, Extents{0, 0}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{0, 16}, Extents{0, 0}), Overlap::None) << "no elements";
  EXPECT_EQ(overlaps_itself(Extents{}, Extents{}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{2, 3}, Extents{3, 2}), Overlap::None) << "0 2 4 3 5 7: woven, and each apart";
  EXPECT_EQ(overlaps_itself(Extents{3, 3}, Extents{4, 2}), Overlap::Some);
}

TEST(StridedOverlap, OfHugeExtentsDoesNotOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 4;
  EXPECT_EQ(overlaps_itself(Extents{3, 2}, Extents{kHuge, kHuge}), Overlap::Some);
  EXPECT_EQ(overlaps_itself(Extents{2, 2}, Extents{kHuge, kHuge - 1}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{kHuge, 2}, Extents{2, 1}), Overlap::None);
  EXPECT_EQ(overlaps_itself(Extents{kHuge, 2}, Extents{1, 1}), Overlap::Some);
}

TEST(StridedOverlap, OfOneArrayAgreesWithItsPlaces) {
  std::mt19937 random{7};
  std::map<bool, int> seen;
  for (int round = 0; round < 20000; ++round) {
    Extents sizes;
    Extents strides;
    for (std::size_t d = random() % 5; d > 0; --d) {
      sizes.push_back(static_cast<std::int64_t>(random() % 5));
      strides.push_back(static_cast<std::int64_t>(random() % 30));
    }
    const auto all = places(sizes, strides);
    const bool expected = std::set<std::int64_t>{all.begin(), all.end()}.size() != all.size();
    ++seen[expected];
    ASSERT_EQ(overlaps_itself(sizes, strides), expected ? Overlap::Some : Overlap::None) << "round " << round;
  }
  EXPECT_GT(seen[true], 1000);
  EXPECT_GT(seen[false], 1000);
}

TEST(StridedOverlap, OfTwoArraysAgreesWithTheirBytes) {
  std::mt19937 random{11};
  std::map<bool, int> seen;
  alignas(8) static std::array<std::byte, 4096> memory;
  for (int round = 0; round < 20000; ++round) {
    struct One {
      Extents sizes, strides;
      std::size_t item, offset;
      std::set<std::size_t> bytes;
      StridedArray array;
    };
    std::array<One, 2> both;
    for (One& one : both) {
      for (std::size_t d = random() % 4; d > 0; --d) {
        one.sizes.push_back(static_cast<std::int64_t>(random() % 4));
        one.strides.push_back(static_cast<std::int64_t>(random() % 20));
      }
      one.item = std::size_t{1} << (random() % 4);
      one.offset = random() % 200;
      for (const std::int64_t place : places(one.sizes, one.strides)) {
        for (std::size_t b = 0; b < one.item; ++b) {
          one.bytes.insert(one.offset + static_cast<std::size_t>(place) * one.item + b);
        }
      }
      one.array = {memory.data() + one.offset, one.sizes, one.strides, one.item};
    }
    bool expected = false;
    for (const std::size_t byte : both[0].bytes) expected = expected || both[1].bytes.contains(byte);
    ++seen[expected];
    ASSERT_EQ(overlap(both[0].array, both[1].array), expected ? Overlap::Some : Overlap::None) << "round " << round;
  }
  EXPECT_GT(seen[true], 1000);
  EXPECT_GT(seen[false], 1000);
}

/// Slices of large tensors are decided without a search.
TEST(StridedOverlap, OfLargeSlicesIsDecided) {
  const Extents sizes{1000, 1000, 500};
  const Extents strides{1'000'000, 1000, 2};
  static std::array<float, 2> memory;
  const StridedArray even{memory.data(), sizes, strides, sizeof(float)};
  const StridedArray odd{memory.data() + 1, sizes, strides, sizeof(float)};
  EXPECT_EQ(overlap(even, odd), Overlap::None);
  EXPECT_EQ(overlap(even, even), Overlap::Some);
  EXPECT_EQ(overlaps_itself(sizes, strides), Overlap::None);
}

/// A subset sum in disguise is not searched for hours.
TEST(StridedOverlap, OfAbsurdStridesComesToAnEnd) {
  Extents sizes(16, 3);
  Extents strides;
  std::mt19937_64 random{3};
  for (int d = 0; d < 16; ++d) strides.push_back((std::int64_t{1} << 57) + static_cast<std::int64_t>(random() >> 9));
  const Overlap found = overlaps_itself(sizes, strides);
  EXPECT_TRUE(found == Overlap::Undecided || found == Overlap::None);
}

}  // namespace
}  // namespace tandem::base
