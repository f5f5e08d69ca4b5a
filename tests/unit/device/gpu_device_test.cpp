#include "unit/device/fake_test.h"

#include <thread>

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using GpuDeviceTest = FakeTest;

TEST_F(GpuDeviceTest, MemoryIsTheDevicesAndGoesBack) {
  {
    const auto buffer = device().allocate(100);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), 100U);
    EXPECT_EQ(fake().memory.at(buffer->data()), 1);
  }
  EXPECT_THAT(calls(), ElementsAre("allocate@1", "free@1"));
  EXPECT_TRUE(fake().memory.empty());
}

TEST_F(GpuDeviceTest, StagingMemoryIsPageLockedAndGoesBackAsSuch) {
  {
    auto buffer = device().allocate_staging(100);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(fake().memory.at(buffer->data()), -1);
    Buffer moved = *std::move(buffer);
    Buffer assigned;
    assigned = std::move(moved);
  }
  EXPECT_THAT(calls(), ElementsAre("allocate_pinned@1", "free_pinned@1"));
}

TEST_F(GpuDeviceTest, NoBytesAreMemoryToo) {
  const auto buffer = device().allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_NE(buffer->data(), nullptr);
}

TEST_F(GpuDeviceTest, MemoryThatIsNotThereIsNamed) {
  fake().fail("allocate", FakeCode::OutOfMemory);
  const auto buffer = device().allocate(12345);
  EXPECT_EQ(buffer.error().code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(buffer.error().message(), HasSubstr("12345 bytes"));
  EXPECT_EQ(buffer.error().site().device, "cuda:1");
  EXPECT_EQ(buffer.error().native().code, 2);
  EXPECT_TRUE(device().allocate(12345).ok());  // no fault
}

TEST_F(GpuDeviceTest, ItsMemoryIsNotTheHosts) { EXPECT_FALSE(device().is_host_accessible()); }

TEST_F(GpuDeviceTest, StreamsAreMadeAndDestroyedOnTheDevice) {
  {
    const auto stream = device().make_stream(-3);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(fake().streams.begin()->second.priority, -3);
    EXPECT_EQ(fake().streams.begin()->second.device, 1);
  }
  EXPECT_THAT(calls(), ElementsAre("stream_create@1", "stream_synchronize@1", "stream_destroy@1"));
}

TEST_F(GpuDeviceTest, AStreamThatCannotBeMadeClosesNothing) {
  fake().fail("stream_create", FakeCode::OutOfMemory);
  EXPECT_EQ(device().make_stream().error().code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(calls(), ElementsAre("stream_create@1"));
}

TEST_F(GpuDeviceTest, EveryThreadAndDeviceHasItsOwnStream) {
  GpuDevice<FakeApi> other{0};
  Stream& mine = device().thread_stream();
  EXPECT_EQ(&device().thread_stream(), &mine);
  EXPECT_NE(&other.thread_stream(), &mine);
  EXPECT_EQ(mine.id().device, device().id());
  StreamId of_thread{};
  std::thread{[&] { of_thread = device().thread_stream().id(); }}.join();
  EXPECT_NE(of_thread, mine.id());
}

TEST_F(GpuDeviceTest, AStreamOfAnotherDeviceOrContextIsNotBorrowed) {
  GpuDevice<FakeApi> other{0};
  const auto stream = other.make_stream();
  const auto handle = static_cast<GpuStream<FakeApi>&>(**stream).handle();
  const auto refused = device().borrow(handle);
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().expected(), "cuda:1");
  EXPECT_EQ(refused.error().found(), "cuda:0");
  const auto foreign = other.make_stream(FakeApi::kForeign);
  EXPECT_EQ(other.borrow(static_cast<GpuStream<FakeApi>&>(**foreign).handle()).error().code(),
            ErrorCode::InvalidArgument);
  fake().fail("stream_owner", FakeCode::BadHandle);
  EXPECT_EQ(other.borrow(handle).error().native().code, 400);
}

TEST_F(GpuDeviceTest, TheLegacyStreamIsNotBorrowed) {
  for (const std::uint32_t legacy : {0U, 1U}) {
    EXPECT_EQ(device().borrow(legacy).error().code(), ErrorCode::InvalidArgument);
  }
}

TEST_F(GpuDeviceTest, ABorrowedStreamIsLeftAlone) {
  const auto owner = make_stream();
  calls();
  ASSERT_TRUE(device().borrow(owner->handle()).ok());
  EXPECT_THAT(calls(), ElementsAre("stream_owner@1"));
}

TEST_F(GpuDeviceTest, ATimerKnowsWhenTheStreamHasPassed) {
  const auto stream = make_stream();
  auto made = device().make_timer();
  ASSERT_TRUE(made.ok());
  const std::unique_ptr<Timer> timer = *std::move(made);
  std::byte byte{};
  ASSERT_TRUE(timer->start(*stream).ok());
  ASSERT_TRUE(stream->fill(&byte, {}, 1).ok());
  ASSERT_TRUE(timer->stop(*stream).ok());
  EXPECT_FALSE(timer->elapsed()->has_value());
  fake().run(stream->handle());
  ASSERT_TRUE(timer->elapsed()->has_value());
  EXPECT_EQ(**timer->elapsed(), std::chrono::milliseconds{2}) << "the piece of work and the second event";
  fake().fail("event_elapsed", FakeCode::BadHandle);
  EXPECT_EQ(timer->elapsed().error().message(), "a timed event failed");
  fake().fail("event_create", FakeCode::OutOfMemory);
  EXPECT_EQ(device().make_timer().error().code(), ErrorCode::OutOfMemory);
  GpuDevice<PlainFakeApi> plain{0};
  EXPECT_EQ(plain.make_timer().error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::device::gpu
