#include "unit/device/fake_test.h"

#include <tandem/log.h>

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ContextTest = FakeTest;

TEST_F(ContextTest, CallsHappenOnTheDeviceAndTheCallersIsRestored) {
  Context<FakeApi>& context = device().context();
  for (const int callers : {0, 1, 7}) {
    fake().current = callers;
    int inside = -1;
    EXPECT_TRUE(context
                    .run("",
                         [&inside] {
                           inside = fake().current;
                           return FakeCode::Ok;
                         })
                    .ok());
    EXPECT_EQ(inside, 1);
    EXPECT_EQ(fake().current, callers);
    EXPECT_FALSE(context.run("", [] { return FakeCode::BadHandle; }).ok());
    EXPECT_EQ(fake().current, callers);
  }
  fake().current = 0;
}

TEST_F(ContextTest, FailuresCarryTheNativeCodeAndTheDevice) {
  fake().last_errors = 1;
  const Status status = device().context().run("what failed", [] { return FakeCode::BadHandle; });
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().message(), "what failed");
  EXPECT_EQ(status.error().native().origin, Origin::Cuda);
  EXPECT_EQ(status.error().native().code, 400);
  EXPECT_EQ(status.error().native().text, "fakeError: text of the fake");
  EXPECT_EQ(status.error().site().device, "cuda:1");
  EXPECT_EQ(fake().last_errors, 0);
}

TEST_F(ContextTest, ADeviceThatCannotBeMadeCurrentIsNotUsed) {
  fake().fail("enter", FakeCode::NoDevice);
  bool is_called = false;
  const Status status = device().context().run("", [&is_called] {
    is_called = true;
    return FakeCode::Ok;
  });
  EXPECT_EQ(status.error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(is_called);
}

TEST_F(ContextTest, AFaultIsRepeatedByEveryLaterCallAndNothingReachesTheDriver) {
  const auto stream = make_stream();
  const tandem::Event event = make_event();
  ASSERT_TRUE(stream->record(*event.impl()).ok());
  break_device();
  std::byte bytes[8] = {};
  const std::vector<Error> errors{
      device().allocate(8).error(),
      device().allocate_staging(8).error(),
      device().make_stream().error(),
      device().borrow(stream->handle()).error(),
      stream->copy(bytes, bytes, 8).error(),
      stream->upload(bytes, bytes, 8).error(),
      stream->download(bytes, bytes, 8).error(),
      stream->fill(bytes, {}, 8).error(),
      stream->record(*event.impl()).error(),
      stream->wait(*event.impl()).error(),
      stream->synchronize().error(),
      stream->may_enqueue().error(),
      stream->make_event().error(),
      event.is_done().error(),
      event.synchronize().error(),
  };
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::DeviceFault);
    EXPECT_EQ(error.native().code, 700);
    EXPECT_THAT(error.message(), HasSubstr("1 bytes"));  // the first one, again
  }
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(ContextTest, AFaultOfOneDeviceLeavesTheOthers) {
  break_device();
  GpuDevice<FakeApi> other{0};
  EXPECT_TRUE(other.allocate(8).ok());
}

TEST_F(ContextTest, TeardownAfterAFaultMakesNoCalls) {
  {
    const auto buffer = device().allocate(8);
    const auto staging = device().allocate_staging(8);
    const auto stream = make_stream();
    const tandem::Event event = make_event();
    std::byte bytes[8] = {};
    ASSERT_TRUE(stream->upload(bytes, bytes, 8).ok());  // makes a piece
    break_device();
  }
  device_.reset();
  EXPECT_THAT(calls(), IsEmpty());
  for (const auto& [data, owner] : std::exchange(fake().memory, {})) std::free(data);
}

TEST_F(ContextTest, AFaultThatTeardownFindsIsRememberedAndLogged) {
  std::string text;
  set_log_sink([&text](LogLevel, std::string_view line) { text = line; });
  fake().fail("stream_synchronize", FakeCode::Fault);
  make_stream().reset();
  set_log_sink({});
  EXPECT_THAT(text, HasSubstr("a stream cannot be destroyed"));
  EXPECT_EQ(device().allocate(8).error().code(), ErrorCode::DeviceFault);
}

TEST_F(ContextTest, TeardownWhileTheDriverShutsDownIsSilent) {
  bool is_logged = false;
  set_log_sink([&is_logged](LogLevel, std::string_view) { is_logged = true; });
  fake().fail("stream_destroy", FakeCode::Unloading);
  make_stream().reset();
  set_log_sink({});
  EXPECT_FALSE(is_logged);
  fake().last_errors = 0;  // nobody is left to find it
}

TEST_F(ContextTest, WhatBreaksOtherThreadsCapturesIsRelaxed) {
  {
    const auto buffer = device().allocate(8);
    const auto staging = device().allocate_staging(8);
    const auto stream = make_stream();
    const tandem::Event event = make_event();
    ASSERT_TRUE(stream->record(*event.impl()).ok());
    ASSERT_TRUE(event.is_done().ok());
    ASSERT_TRUE(event.synchronize().ok());
    ASSERT_TRUE(stream->synchronize().ok());
    std::byte bytes[8] = {};
    ASSERT_TRUE(stream->download(bytes, buffer->data(), 8).ok());
  }
  device_.reset();
  EXPECT_THAT(fake().modes, ::testing::SizeIs(::testing::Gt(15U)));
  EXPECT_THAT(fake().modes, ::testing::Each(CaptureMode::Relaxed));
  EXPECT_EQ(fake().mode, CaptureMode::Global);
}

}  // namespace
}  // namespace tandem::device::gpu
