#include "ops/portable/view.h"
#include "ops/portable/reshape.h"
#include "unit/ops/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::ops::portable {
namespace {

using ::testing::ElementsAre;

Shape shape(std::vector<std::int64_t> sizes) { return Shape{sizes}; }

TEST(BroadcastTest, OnesAndMissingAxesStretch) {
  const auto wide = broadcast(shape({4, 1, 3}), shape({5, 1}));
  ASSERT_TRUE(wide.ok());
  EXPECT_THAT(wide->span(), ElementsAre(4, 5, 3));
  const auto empty = broadcast(shape({1}), shape({0}));
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(empty->span(), ElementsAre(0));
}

TEST(BroadcastTest, NamesBothShapesThatDoNotFit) {
  const auto none = broadcast(shape({2, 3}), shape({2}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(none.error().expected(), "[2, 3]");
  EXPECT_EQ(none.error().found(), "[2]");
}

TEST(ViewTest, CopyConvertsBetweenLayouts) {
  const auto from = testing::tensor(ScalarType::Float, {2, 3}, {1.5, 2, 3, 4, 5, -6.5}, {1, 0});
  const auto to = testing::make_tensor(ScalarType::Int, {2, 3});
  ASSERT_OK(copy(view_of(to.tensor()), view_of(from.tensor())));
  EXPECT_THAT(to.values(), ElementsAre(1, 2, 3, 4, 5, -6));
}

TEST(ViewTest, CopyMovesTypesWithoutArithmetic) {
  auto from = testing::make_tensor(ScalarType::ComplexDouble, {2});
  auto to = testing::make_tensor(ScalarType::ComplexDouble, {2});
  auto* elements = static_cast<double*>(from.tensor().data);
  for (int i = 0; i < 4; ++i) elements[i] = i;
  ASSERT_OK(copy(view_of(to.tensor()), view_of(from.tensor())));
  EXPECT_THAT(std::span(static_cast<double*>(to.tensor().data), 4), ElementsAre(0, 1, 2, 3));
}

TEST(ViewTest, CopyRefusesPairsWithoutConversion) {
  const auto from = testing::make_tensor(ScalarType::ComplexFloat, {2});
  const auto to = testing::make_tensor(ScalarType::Float, {2});
  EXPECT_REFUSED(copy(view_of(to.tensor()), view_of(from.tensor())), ErrorCode::InvalidType, "complex64");
}

TEST(InferredSizeTest, FillsInTheOpenAxis) {
  const auto sizes = inferred_size(shape({2, -1, 3}), 12);
  ASSERT_TRUE(sizes.ok());
  EXPECT_THAT(sizes->span(), ElementsAre(2, 2, 3));
}

TEST(InferredSizeTest, RefusesWhatIsNoView) {
  for (const auto& asked : std::vector<std::vector<std::int64_t>>{
           {-1, -1}, {-2, 6}, {5}, {5, -1}, {std::int64_t{1} << 40, std::int64_t{1} << 40}}) {
    EXPECT_FALSE(inferred_size(shape(asked), 12).ok());
  }
  EXPECT_FALSE(inferred_size(shape({-1, 0}), 0).ok());
}

TEST(CopyInOrderTest, BothSidesMayBeStrided) {
  const auto from = testing::strided(ScalarType::Short, {2, 3}, {1, 2}, {0, 1, 2, 3, 4, 5});
  const auto to = testing::tensor(ScalarType::Short, {3, 2}, {0, 0, 0, 0, 0, 0}, {1, 0});
  copy_in_order(view_of(to.tensor()), view_of(from.tensor()));
  EXPECT_THAT(to.values(), ElementsAre(0, 2, 4, 1, 3, 5));
}

}  // namespace
}  // namespace tandem::ops::portable
