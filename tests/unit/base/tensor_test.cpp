#include "device/tensor_impl.h"

#include <tandem/tensor.h>
#include <tandem/value.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace tandem {
namespace {

using Dims = std::vector<std::int64_t>;

TEST(TensorTest, EmptyIsContiguousAndAligned) {
  const auto tensor = Tensor::empty(ScalarType::Float, Dims{2, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->numel(), 6);
  EXPECT_EQ(tensor->nbytes(), 24U);
  EXPECT_TRUE(tensor->is_contiguous());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % 64, 0U);
  EXPECT_EQ(tensor->strides()[0], 3);
}

TEST(TensorTest, DimOrderDecidesTheStrides) {
  const auto tensor = Tensor::empty(ScalarType::Float, Dims{2, 3, 4, 5}, std::array<std::uint8_t, 4>{0, 2, 3, 1});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ((Dims{tensor->strides().begin(), tensor->strides().end()}), (Dims{60, 1, 15, 3}));
  EXPECT_FALSE(tensor->is_contiguous());
}

TEST(TensorTest, ZeroExtentRepeatsTheOuterStride) {
  std::array<std::int64_t, 3> strides{};
  strides_from_dim_order(Dims{2, 0, 3}, std::array<std::uint8_t, 3>{0, 1, 2}, strides);
  EXPECT_EQ(strides, (std::array<std::int64_t, 3>{3, 3, 1}));
}

TEST(TensorTest, ZeroBytesHaveAnAddress) {
  const auto tensor = Tensor::empty(ScalarType::Float, Dims{0, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_NE(tensor->data(), nullptr);
  EXPECT_EQ(tensor->nbytes(), 0U);
}

TEST(TensorTest, BadShapesAreRefused) {
  EXPECT_EQ(Tensor::empty(ScalarType::Float, Dims(17, 1)).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Tensor::empty(ScalarType::Float, Dims{-1}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Tensor::empty(ScalarType::Float, Dims{INT64_MAX, 8}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Tensor::empty(static_cast<ScalarType>(77), Dims{1}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(Tensor::empty(ScalarType::Float, Dims{1, 2}, std::array<std::uint8_t, 2>{0, 0}).ok());
  EXPECT_FALSE(Tensor::empty(ScalarType::Float, Dims{1, 2}, std::array<std::uint8_t, 1>{0}).ok());
}

TEST(TensorTest, BadBlobsAreRefused) {
  std::array<float, 4> data{};
  EXPECT_FALSE(Tensor::from_blob(nullptr, ScalarType::Float, Dims{4}).ok());
  EXPECT_TRUE(Tensor::from_blob(nullptr, ScalarType::Float, Dims{0}).ok());
  EXPECT_FALSE(Tensor::from_blob(data.data(), ScalarType::Float, Dims{4}, Dims{1, 1}).ok());
  EXPECT_FALSE(Tensor::from_blob(data.data(), ScalarType::Float, Dims{4}, Dims{-1}).ok());
  EXPECT_FALSE(Tensor::from_blob(data.data(), ScalarType::Float, Dims{4}, Dims{INT64_MAX}).ok());
  EXPECT_FALSE(Tensor::from_blob(data.data(), ScalarType::Float, Dims{4}, Dims{INT64_MAX / 8}).ok())
      << "bytes overflow";
  auto* const last = reinterpret_cast<void*>(UINTPTR_MAX - 15);
  EXPECT_FALSE(Tensor::from_blob(last, ScalarType::Float, Dims{8}).ok()) << "past the end of memory";
}

TEST(TensorTest, MemoryThatDoesNotExistIsReported) {
  const auto huge = Tensor::empty(ScalarType::Byte, Dims{std::int64_t{1} << 62});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code(), ErrorCode::OutOfMemory);
}

TEST(TensorTest, ReleaseRunsOnceWithTheLastHandle) {
  int released = 0;
  std::array<float, 4> data{};
  {
    Tensor first = *Tensor::from_blob(data.data(), ScalarType::Float, Dims{4}, {}, [&released] { ++released; });
    Tensor second = first;
    Tensor third = std::move(first);
    second = third;
    const Tensor& same = second;
    second = same;
    EXPECT_FALSE(second.impl()->unique());
    third = Tensor{};
    EXPECT_TRUE(second.impl()->unique());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(ValueTest, KindsAreWhatWentIn) {
  EXPECT_TRUE(Value{}.is_none());
  EXPECT_EQ(Value{3}.to_int(), 3);
  EXPECT_EQ(Value{0.5}.to_double(), 0.5);
  EXPECT_TRUE(Value{true}.to_bool());
  EXPECT_EQ(Value{"text"}.to_text(), "text");
  EXPECT_EQ(name_of(Value{"text"}.kind()), "string");
  EXPECT_EQ(name_of(Value{Tensor{}}.kind()), "tensor");
}

}  // namespace
}  // namespace tandem
