#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace tandem::base {
namespace {

TEST(CheckedTest, SumsAndProductsAnswerNothingOnOverflow) {
  EXPECT_EQ(checked_add<std::uint64_t>(1, 2), 3U);
  EXPECT_EQ(checked_add<std::uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_mul<std::int64_t>(3, -4), -12);
  EXPECT_EQ(checked_mul<std::int64_t>(INT64_MAX, 2), std::nullopt);
}

TEST(CheckedTest, FitsDoesNotWrap) {
  EXPECT_TRUE(fits(4, 4, 8));
  EXPECT_FALSE(fits(4, 5, 8));
  EXPECT_FALSE(fits(9, 0, 8));
  EXPECT_FALSE(fits(UINT64_MAX, 2, 8));
}

TEST(CheckedTest, BytesOfSizes) {
  using Sizes = std::array<std::int64_t, 2>;
  EXPECT_EQ(checked_bytes(std::span<const std::int64_t>{Sizes{2, 3}}, 4), 24U);
  EXPECT_EQ(checked_bytes(std::span<const std::int64_t>{Sizes{0, 3}}, 4), 0U);
  EXPECT_EQ(checked_bytes(std::span<const std::int64_t>{Sizes{-1, 3}}, 4), std::nullopt);
  EXPECT_EQ(checked_bytes(std::span<const std::int64_t>{Sizes{INT64_MAX, 1}}, 4), std::nullopt);
  // A zero does not hide an overflow: strides are products of the others.
  EXPECT_EQ(checked_bytes(std::span<const std::int64_t>{std::array<std::int64_t, 3>{0, INT64_MAX, INT64_MAX}}, 4),
            std::nullopt);
}

TEST(CheckedTest, ExtentOfStrides) {
  using Pair = std::array<std::int64_t, 2>;
  EXPECT_EQ(extent_bytes(Pair{2, 3}, Pair{3, 1}, 4), 24U);
  EXPECT_EQ(extent_bytes(Pair{2, 3}, Pair{10, 1}, 4), 52U);
  EXPECT_EQ(extent_bytes(Pair{2, 3}, Pair{0, 0}, 4), 4U);
  EXPECT_EQ(extent_bytes(Pair{0, 3}, Pair{INT64_MAX, 1}, 4), 0U);
  EXPECT_EQ(extent_bytes(Pair{3, 3}, Pair{INT64_MAX, 1}, 4), std::nullopt);
}

}  // namespace
}  // namespace tandem::base
