#include <tandem/cuda.h>

#include <gtest/gtest.h>

#include <array>

namespace tandem::cuda {
namespace {

/// Where the build or the machine has no CUDA, everything says that.
TEST(CudaHeaderTest, SaysThatThereIsNoCuda) {
  if (device_count() != 0) GTEST_SKIP() << "there is";
  int something = 0;
  auto* const stream = reinterpret_cast<CUstream_st*>(&something);
  auto* const event = reinterpret_cast<CUevent_st*>(&something);
  const std::array<std::int64_t, 1> sizes{1};
  EXPECT_EQ(borrow_stream(stream).error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(borrow_stream(nullptr).error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(borrow_event(event, 0).error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(tensor_from_pointer(&something, ScalarType::Int, sizes).error().code(), ErrorCode::NotSupported);
  const auto created = Stream::create({DeviceType::Cuda, 0});
  EXPECT_EQ(created.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(created.error().site().device, "cuda:0");
}

}  // namespace
}  // namespace tandem::cuda
