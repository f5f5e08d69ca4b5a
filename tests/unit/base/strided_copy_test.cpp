#include "base/strided_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace tandem::base {
namespace {

using Dims = std::vector<std::int64_t>;

/// Element by element, the obvious way.
template <class T>
void reference(std::vector<T>& to, const Dims& to_strides, const std::vector<T>& from, const Dims& from_strides,
               const Dims& sizes) {
  Dims index(sizes.size());
  while (true) {
    std::int64_t a = 0;
    std::int64_t b = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      a += index[i] * to_strides[i];
      b += index[i] * from_strides[i];
    }
    to[static_cast<std::size_t>(a)] = from[static_cast<std::size_t>(b)];
    std::size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

template <class T>
void compare(const Dims& sizes, const Dims& to_strides, const Dims& from_strides) {
  std::vector<T> from(256);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  std::vector<T> expected(256);
  std::vector<T> found(256);
  reference(expected, to_strides, from, from_strides, sizes);
  copy_strided(found.data(), to_strides, from.data(), from_strides, sizes, sizeof(T));
  EXPECT_EQ(found, expected);
}

template <class T>
class StridedCopyTest : public ::testing::Test {};
using Widths = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(StridedCopyTest, Widths);

TYPED_TEST(StridedCopyTest, EveryKindOfLayout) {
  compare<TypeParam>({2, 3, 4}, {12, 4, 1}, {12, 4, 1});             // dense
  compare<TypeParam>({2, 3, 4}, {12, 4, 1}, {1, 2, 6});              // reversed
  compare<TypeParam>({2, 3, 4, 5}, {60, 1, 15, 3}, {60, 20, 5, 1});  // to channels-last
  compare<TypeParam>({4, 5}, {5, 1}, {0, 1});                        // broadcast
  compare<TypeParam>({3, 4}, {10, 2}, {4, 1});                       // gaps
  compare<TypeParam>({1, 7, 1}, {99, 1, 3}, {5, 2, 7});              // axes of one element
  compare<TypeParam>({}, {}, {});                                    // a scalar
}

TEST(StridedCopyEdgeTest, SixteenByteElements) {
  struct Wide {
    std::uint64_t a;
    std::uint64_t b;
  };
  const std::array<Wide, 4> from{{{1, 2}, {3, 4}, {5, 6}, {7, 8}}};
  std::array<Wide, 4> to{};
  copy_strided(to.data(), Dims{2, 1}, from.data(), Dims{1, 2}, Dims{2, 2}, sizeof(Wide));
  EXPECT_EQ(to[1].a, 5U);
  EXPECT_EQ(to[2].b, 4U);
}

TEST(StridedCopyEdgeTest, NothingToCopy) { copy_strided(nullptr, Dims{3, 1}, nullptr, Dims{3, 1}, Dims{0, 3}, 4); }

TEST(SameLayoutTest, IgnoresAxesOfOneElement) {
  EXPECT_TRUE(same_layout(Dims{1, 3}, Dims{3, 1}, Dims{99, 1}));
  EXPECT_FALSE(same_layout(Dims{2, 3}, Dims{3, 1}, Dims{1, 2}));
  EXPECT_TRUE(same_layout(Dims{2, 0}, Dims{3, 1}, Dims{1, 2}));
}

}  // namespace
}  // namespace tandem::base
