#include "unit/device/fake_test.h"

#include <atomic>
#include <thread>

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using GpuEventTest = FakeTest;

TEST_F(GpuEventTest, AnEventThatWasNeverRecordedIsDone) {
  const tandem::Event event = make_event();
  calls();
  EXPECT_TRUE(*event.is_done());
  EXPECT_TRUE(event.synchronize().ok());
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(GpuEventTest, NotReadyIsAnAnswer) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  const auto done = event.is_done();
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done);
  ASSERT_TRUE(event.synchronize().ok());
  EXPECT_TRUE(*event.is_done());
}

TEST_F(GpuEventTest, ThatItHasPassedIsAskedOnce) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  ASSERT_TRUE(event.synchronize().ok());
  calls();
  EXPECT_TRUE(*event.is_done());
  EXPECT_TRUE(event.synchronize().ok());
  EXPECT_THAT(calls(), IsEmpty());
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  EXPECT_FALSE(*event.is_done()) << "recorded again";
}

TEST_F(GpuEventTest, AFaultComesOut) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  fake().fail("event_query", FakeCode::Fault);
  EXPECT_EQ(event.is_done().error().code(), ErrorCode::DeviceFault);
}

TEST_F(GpuEventTest, ARecordThatFailsChangesNothing) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  fake().fail("event_record", FakeCode::BadHandle);
  EXPECT_EQ(stream->record(*event.impl()).error().code(), ErrorCode::InvalidArgument);
  EXPECT_TRUE(*event.is_done());
}

TEST_F(GpuEventTest, NativeEventsAreMadeAndDestroyedOnTheDevice) {
  make_event();
  EXPECT_THAT(calls(), ElementsAre("event_create@1", "event_destroy@1"));
}

TEST_F(GpuEventTest, ABorrowedEventIsAskedAndLeftAlone) {
  const tandem::Event owner = make_event();
  const auto stream = make_stream();
  ASSERT_TRUE(stream->record(*owner.impl()).ok());
  calls();
  {
    const tandem::Event event = GpuEvent<FakeApi>::borrow(device().context(), impl(owner).handle());
    EXPECT_FALSE(*event.is_done());
  }
  EXPECT_THAT(calls(), ElementsAre("event_query@1"));
}

TEST_F(GpuEventTest, ABorrowedEventIsAskedEachTimeForItsOwnerMayRecordIt) {
  const tandem::Event owner = make_event();
  const auto stream = make_stream();
  ASSERT_TRUE(stream->record(*owner.impl()).ok());
  const tandem::Event event = GpuEvent<FakeApi>::borrow(device().context(), impl(owner).handle());
  ASSERT_TRUE(event.synchronize().ok());
  ASSERT_TRUE(stream->record(*owner.impl()).ok());
  EXPECT_FALSE(*event.is_done());
}

TEST_F(GpuEventTest, HeldUntilItIsSignalled) {
  const tandem::Event event = make_event();
  event.impl()->hold();
  calls();
  EXPECT_FALSE(*event.is_done());
  std::atomic<bool> is_signalled{false};
  std::thread signaller{[&event, &is_signalled] {
    is_signalled = true;
    event.impl()->signal();
  }};
  EXPECT_TRUE(event.synchronize().ok());
  EXPECT_TRUE(is_signalled);
  signaller.join();
  EXPECT_TRUE(*event.is_done());
  EXPECT_THAT(calls(), IsEmpty()) << "the driver cannot know it";
}

TEST_F(GpuEventTest, RecordingEndsAHold) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  event.impl()->hold();
  event.impl()->signal();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  EXPECT_FALSE(*event.is_done());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_TRUE(*event.is_done());
}

}  // namespace
}  // namespace tandem::device::gpu
