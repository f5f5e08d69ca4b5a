#include "runtime/op.h"

#include <gtest/gtest.h>

#include <array>

namespace tandem::runtime {
namespace {

struct Sized {
  std::array<std::int64_t, 2> sizes{4, 6};
  std::array<std::int64_t, 2> strides{6, 1};
  std::array<std::uint8_t, 2> order{0, 1};
  TensorArg tensor{};

  explicit Sized(bool resizable) {
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim_order = order.data();
    tensor.capacity_bytes = 4 * 6 * sizeof(float);
    tensor.rank = 2;
    tensor.resizable = resizable;
  }
};

TEST(ResizeTest, FollowsThePlannedLayout) {
  Sized s{true};
  s.order = {1, 0};
  ASSERT_TRUE(resize(s.tensor, std::array<std::int64_t, 2>{3, 2}).ok());
  EXPECT_EQ(s.strides, (std::array<std::int64_t, 2>{1, 3}));
}

TEST(ResizeTest, BoundIsInBytesNotPerAxis) {
  Sized s{true};
  EXPECT_TRUE(resize(s.tensor, std::array<std::int64_t, 2>{8, 3}).ok());
  const Status over = resize(s.tensor, std::array<std::int64_t, 2>{5, 5});
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(over.error().expected(), "at most 96 bytes");
}

TEST(ResizeTest, FixedSizesStay) {
  Sized s{false};
  EXPECT_TRUE(resize(s.tensor, std::array<std::int64_t, 2>{4, 6}).ok());
  const Status other = resize(s.tensor, std::array<std::int64_t, 2>{4, 5});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().expected(), "[4, 6]");
  EXPECT_EQ(other.error().found(), "[4, 5]");
}

TEST(ResizeTest, RankStays) {
  Sized s{true};
  EXPECT_FALSE(resize(s.tensor, std::array<std::int64_t, 1>{4}).ok());
}

TEST(ResizeTest, OverflowingSizesAreRefused) {
  Sized s{true};
  EXPECT_FALSE(resize(s.tensor, std::array<std::int64_t, 2>{std::int64_t{1} << 40, std::int64_t{1} << 40}).ok());
  EXPECT_FALSE(resize(s.tensor, std::array<std::int64_t, 2>{-1, 2}).ok());
}

TEST(OperatorRegistryTest, FindsWhatWasAddedOnce) {
  OperatorRegistry registry;
  ASSERT_TRUE(registry.add({.name = "b::op"}).ok());
  ASSERT_TRUE(registry.add({.name = "a::op"}).ok());
  const Status again = registry.add({.name = "a::op"});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(again.error().site().op, "a::op");
  ASSERT_NE(registry.find("a::op"), nullptr);
  EXPECT_EQ(registry.find("a::op")->name, "a::op");
  EXPECT_EQ(registry.find("c::op"), nullptr);
  EXPECT_EQ(registry.all().front()->name, "a::op");
}

TEST(OperatorRegistryTest, EveryBuiltInOperatorIsComplete) {
  for (const Operator* op : OperatorRegistry::builtin().all()) {
    EXPECT_NE(op->accept, nullptr) << op->name;
    EXPECT_NE(op->run, nullptr) << op->name;
    EXPECT_FALSE(op->accesses.empty()) << op->name;
    EXPECT_EQ(op->accesses.find_first_not_of("-srwupao="), std::string_view::npos) << op->name;
  }
}

}  // namespace
}  // namespace tandem::runtime
