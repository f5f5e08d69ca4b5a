#include "ops/portable/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tandem::ops::portable {
namespace {

using ::testing::ElementsAre;

View bytes_view(std::byte* data, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
  View view{data, ScalarType::Byte, Shape{sizes}, {}};
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  return view;
}

std::vector<std::int64_t> row_lengths(const Walk& walk, const Pointers& start) {
  std::vector<std::int64_t> rows;
  walk.each_row(start, [&](const Pointers&, const Steps&, std::int64_t count) { rows.push_back(count); });
  return rows;
}

std::vector<std::ptrdiff_t> offsets(const Walk& walk, std::byte* data) {
  std::vector<std::ptrdiff_t> all;
  walk.each({data}, [&](const Pointers& at) { all.push_back(at[0] - data); });
  return all;
}

TEST(WalkTest, DenseTensorsOfOneLayoutAreOneRow) {
  std::array<std::byte, 24> memory{};
  const View a = bytes_view(memory.data(), {2, 3, 4}, {12, 1, 3});
  const View b = bytes_view(memory.data(), {2, 3, 4}, {12, 1, 3});
  const std::array<const View*, 2> views{&a, &b};
  EXPECT_THAT(row_lengths(Walk{views, Walk::Order::Any}, {a.data, b.data}), ElementsAre(24));
}

TEST(WalkTest, RepeatedElementsSplitRows) {
  std::array<std::byte, 6> memory{};
  const View a = bytes_view(memory.data(), {2, 3}, {3, 1});
  const View b = bytes_view(memory.data(), {2, 3}, {1, 0});
  const std::array<const View*, 2> views{&a, &b};
  EXPECT_THAT(row_lengths(Walk{views, Walk::Order::Any}, {a.data, b.data}), ElementsAre(3, 3));
}

TEST(WalkTest, LogicalOrderIsRowMajor) {
  std::array<std::byte, 6> memory{};
  const View transposed = bytes_view(memory.data(), {2, 3}, {1, 2});
  const std::array<const View*, 1> views{&transposed};
  EXPECT_THAT(offsets(Walk{views, Walk::Order::Logical}, memory.data()), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(offsets(Walk{views, Walk::Order::Any}, memory.data()), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(WalkTest, ThreeAxesWithGapsVisitEveryElementOnce) {
  std::array<std::byte, 64> memory{};
  const View view = bytes_view(memory.data(), {2, 2, 2}, {32, 8, 2});
  const std::array<const View*, 1> views{&view};
  EXPECT_THAT(offsets(Walk{views, Walk::Order::Any}, memory.data()), ElementsAre(0, 2, 8, 10, 32, 34, 40, 42));
}

TEST(WalkTest, NoAxesAreOneElement) {
  std::byte memory{};
  const View view = bytes_view(&memory, {}, {});
  const std::array<const View*, 1> views{&view};
  EXPECT_THAT(offsets(Walk{views, Walk::Order::Any}, &memory), ElementsAre(0));
}

TEST(WalkTest, EmptyTensorsHaveNoRows) {
  const View view = bytes_view(nullptr, {3, 0}, {0, 1});
  const std::array<const View*, 1> views{&view};
  EXPECT_THAT(row_lengths(Walk{views, Walk::Order::Any}, {nullptr}), ElementsAre());
}

}  // namespace
}  // namespace tandem::ops::portable
