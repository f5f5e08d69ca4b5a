#include "unit/device/fake_test.h"

#include <atomic>
#include <thread>

namespace tandem::device::gpu {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using GpuStreamTest = FakeTest;

TEST_F(GpuStreamTest, IsKnownByTheDriversNumberNotByItsHandle) {
  const auto stream = make_stream();
  const auto again = *device().borrow(stream->handle());
  EXPECT_EQ(again->id(), stream->id());
  // The handle comes back; the number does not.
  fake().streams[stream->handle()].id = 500;
  EXPECT_NE((*device().borrow(stream->handle()))->id(), stream->id());
}

TEST_F(GpuStreamTest, WithoutNumbersOfTheDriverNoTwoAreTheSame) {
  GpuDevice<PlainFakeApi> plain{1};
  const auto stream = *plain.make_stream();
  const auto handle = static_cast<GpuStream<PlainFakeApi>&>(*stream).handle();
  const auto again = *plain.borrow(handle);
  EXPECT_NE(again->id(), stream->id());
  EXPECT_NE(again->id().number, 0U);
  EXPECT_EQ(plain.thread_stream().id(), plain.thread_stream().id());
}

TEST_F(GpuStreamTest, CopiesAndFillsAreEnqueuedOnTheDevice) {
  const auto stream = make_stream();
  std::byte from[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::byte to[4] = {};
  calls();
  ASSERT_TRUE(stream->copy(to, from, 4).ok());
  ASSERT_TRUE(stream->fill(to, std::byte{9}, 2).ok());
  EXPECT_THAT(calls(), ElementsAre("copy@1", "fill@1"));
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_THAT(to, ElementsAre(std::byte{9}, std::byte{9}, std::byte{3}, std::byte{4}));
}

TEST_F(GpuStreamTest, NoBytesAreNoCalls) {
  const auto stream = make_stream();
  calls();
  EXPECT_TRUE(stream->copy(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(stream->upload(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(stream->download(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(stream->fill(nullptr, {}, 0).ok());
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(GpuStreamTest, RunsNoHostWork) {
  const auto stream = make_stream();
  EXPECT_FALSE(stream->is_inline());
  const auto work = [](void* /*data*/, std::uint32_t /*index*/) noexcept { return false; };
  EXPECT_EQ(stream->submit(work, nullptr, 0).error().code(), ErrorCode::NotSupported);
}

TEST_F(GpuStreamTest, CodeOfOthersLaunchesOnItsHandleWithItsDeviceCurrent) {
  struct Seen {
    void* handle = nullptr;
    int device = -1;
  } seen;
  const auto launch = [](void* data, void* handle) -> Status {
    *static_cast<Seen*>(data) = {handle, fake().current};
    return {};
  };
  const auto stream = make_stream();
  ASSERT_TRUE(stream->launch_native(launch, &seen).ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(seen.handle), stream->handle());
  EXPECT_EQ(seen.device, 1);
  EXPECT_EQ(fake().current, 0);
}

TEST_F(GpuStreamTest, WhatALaunchReturnsComesOut) {
  const auto launch = [](void* /*data*/, void* /*handle*/) -> Status { return Error{ErrorCode::BackendFailed, "no"}; };
  EXPECT_EQ(make_stream()->launch_native(launch, nullptr).error().code(), ErrorCode::BackendFailed);
}

TEST_F(GpuStreamTest, NothingIsLaunchedOnALostDevice) {
  const auto stream = make_stream();
  break_device();
  const auto launch = [](void* /*data*/, void* /*handle*/) -> Status { return Error{ErrorCode::Internal, "launched"}; };
  EXPECT_EQ(stream->launch_native(launch, nullptr).error().code(), ErrorCode::DeviceFault);
}

TEST_F(GpuStreamTest, WaitsForEventsOfItsKindWithoutTheHost) {
  GpuDevice<FakeApi> other{0};
  const auto there = *other.make_stream();
  const tandem::Event event = *there->make_event();
  ASSERT_TRUE(there->record(*event.impl()).ok());
  const auto stream = make_stream();
  calls();
  ASSERT_TRUE(stream->wait(*event.impl()).ok());
  EXPECT_THAT(calls(), ElementsAre("stream_wait@1"));
}

TEST_F(GpuStreamTest, RecordsNoEventOfAnotherDevice) {
  GpuDevice<FakeApi> other{0};
  const tandem::Event event = *GpuEvent<FakeApi>::create(other.context());
  const Status status = make_stream()->record(*event.impl());
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().found(), "cuda:0");
}

TEST_F(GpuStreamTest, WaitsForNoEventOfAnotherKind) {
  GpuDevice<PlainFakeApi> hip{1};
  const tandem::Event event = *GpuEvent<PlainFakeApi>::create(hip.context());
  const Status status = make_stream()->wait(*event.impl());
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().found(), "hip:1");
}

TEST_F(GpuStreamTest, AHeldEventKeepsTheHostUntilItIsSignalled) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  event.impl()->hold();
  calls();
  std::atomic<bool> is_signalled{false};
  std::thread signaller{[&event, &is_signalled] {
    is_signalled = true;
    event.impl()->signal();
  }};
  ASSERT_TRUE(stream->wait(*event.impl()).ok());
  EXPECT_TRUE(is_signalled);
  signaller.join();
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(GpuStreamTest, AnEventThatTheGpuNeverSawIsNotWaitedFor) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  calls();
  EXPECT_TRUE(stream->wait(*event.impl()).ok());
  event.impl()->hold();
  event.impl()->signal();
  EXPECT_TRUE(stream->wait(*event.impl()).ok());
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(GpuStreamTest, TellsWhetherItCaptures) {
  const auto stream = make_stream();
  EXPECT_FALSE(*stream->is_capturing());
  ASSERT_EQ(FakeApi::capture_begin(stream->handle(), CaptureMode::ThreadLocal), FakeCode::Ok);
  EXPECT_TRUE(*stream->is_capturing());
  EXPECT_TRUE(stream->may_enqueue().ok());
  fake().streams[stream->handle()].capture = CaptureStatus::Invalidated;
  EXPECT_EQ(stream->is_capturing().error().code(), ErrorCode::InvalidState);
}

TEST_F(GpuStreamTest, ThePerThreadStreamIsForItsThread) {
  Stream& mine = device().thread_stream();
  EXPECT_TRUE(mine.may_enqueue().ok());
  std::thread{[&mine] {
    EXPECT_EQ(mine.may_enqueue().error().code(), ErrorCode::InvalidState);
    EXPECT_EQ(mine.synchronize().error().code(), ErrorCode::InvalidState);
  }}.join();
}

TEST_F(GpuStreamTest, ThePerThreadStreamIsRefusedUnderAForeignContext) {
  Stream& mine = device().thread_stream();
  const auto borrowed = *device().borrow(FakeApi::per_thread_stream());
  const auto owned = make_stream();
  fake().caller_is_foreign = true;
  std::byte bytes[1] = {};
  calls();
  for (Stream* one : {&mine, borrowed.get()}) {
    EXPECT_EQ(one->may_enqueue().error().code(), ErrorCode::NotSupported);
    EXPECT_EQ(one->fill(bytes, {}, 1).error().code(), ErrorCode::NotSupported);
  }
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_TRUE(owned->may_enqueue().ok());
}

TEST_F(GpuStreamTest, FailuresOfTheStreamComeOut) {
  const auto stream = make_stream();
  std::byte bytes[1] = {};
  for (const char* call : {"copy", "fill", "stream_wait", "stream_synchronize", "event_create"}) {
    fake().fail(call, FakeCode::BadHandle);
  }
  EXPECT_EQ(stream->copy(bytes, bytes, 1).error().native().code, 400);
  EXPECT_EQ(stream->fill(bytes, {}, 1).error().native().code, 400);
  EXPECT_EQ(stream->make_event().error().native().code, 400);
  const tandem::Event event = make_event();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  EXPECT_EQ(stream->wait(*event.impl()).error().native().code, 400);
  EXPECT_EQ(stream->synchronize().error().native().code, 400);
}

}  // namespace
}  // namespace tandem::device::gpu
