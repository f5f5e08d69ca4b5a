#include "cli/strided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;

class StridedTest : public ::testing::Test {
 protected:
  StridedTest() {
    const std::array<std::int64_t, 2> sizes{2, 3};
    tensor_ = *Tensor::from_blob(data_.data(), ScalarType::Int, sizes);
  }

  std::array<std::int32_t, 6> data_{0, 1, 2, 3, 4, 5};
  Tensor tensor_;
};

TEST_F(StridedTest, ContiguousSharesWhatIsContiguous) {
  EXPECT_EQ(contiguous(tensor_)->data(), data_.data());
  const std::array<std::uint8_t, 2> rows{0, 1};
  EXPECT_EQ(in_layout(tensor_, rows)->data(), data_.data());
}

TEST_F(StridedTest, InLayoutReordersInMemoryAndContiguousUndoesIt) {
  const std::array<std::uint8_t, 2> columns{1, 0};
  const Result<Tensor> laid_out = in_layout(tensor_, columns);
  ASSERT_TRUE(laid_out.ok());
  EXPECT_THAT(laid_out->strides(), ElementsAre(1, 2));
  EXPECT_THAT((std::span{laid_out->data_as<std::int32_t>(), 6}), ElementsAre(0, 3, 1, 4, 2, 5));
  const Result<Tensor> back = contiguous(*laid_out);
  ASSERT_TRUE(back.ok());
  EXPECT_THAT((std::span{back->data_as<std::int32_t>(), 6}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(StridedTest, InLayoutRefusesWhatIsNoOrder) {
  const std::array<std::uint8_t, 1> shorter{0};
  const std::array<std::uint8_t, 2> twice{1, 1};
  EXPECT_EQ(in_layout(tensor_, shorter).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(in_layout(tensor_, twice).error().code(), ErrorCode::InvalidArgument);
}

TEST_F(StridedTest, RowKeepsTheBytesAlive) {
  const std::array<std::int64_t, 2> sizes{2, 3};
  Result<Tensor> owner = Tensor::empty(ScalarType::Int, sizes);
  ASSERT_TRUE(owner.ok());
  for (int i = 0; i < 6; ++i) owner->data_as<std::int32_t>()[i] = i;
  const Result<Tensor> row = row_of(*owner, 1);
  *owner = Tensor{};
  ASSERT_TRUE(row.ok());
  EXPECT_THAT(row->sizes(), ElementsAre(3));
  EXPECT_THAT((std::span{row->data_as<std::int32_t>(), 3}), ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace tandem::cli
