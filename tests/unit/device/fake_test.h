#pragma once

#include "device/gpu/gpu_device.h"
#include "unit/device/fake_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::device::gpu {

/// A test with a fresh driver of two GPUs, the second of which is `device()`, and 0 the caller's.
class FakeTest : public ::testing::Test {
 protected:
  FakeTest() { reset_fake(); }
  ~FakeTest() override {
    device_.reset();
    EXPECT_EQ(fake().current, callers_device_) << "the caller's device was not restored";
    EXPECT_EQ(fake().last_errors, 0) << "an error was left for somebody else to find";
  }

  GpuDevice<FakeApi>& device() { return *device_; }
  std::unique_ptr<GpuStream<FakeApi>> make_stream() {
    auto made = device().make_stream();
    EXPECT_TRUE(made.ok());
    return std::unique_ptr<GpuStream<FakeApi>>{static_cast<GpuStream<FakeApi>*>(made->release())};
  }
  tandem::Event make_event() { return *GpuEvent<FakeApi>::create(device().context()); }
  static GpuEvent<FakeApi>& impl(const tandem::Event& event) { return static_cast<GpuEvent<FakeApi>&>(*event.impl()); }
  /// The calls since the last time.
  static std::vector<std::string> calls() { return std::exchange(fake().calls, {}); }
  /// Something ends the use of the device.
  void break_device() {
    fake().fail("allocate", FakeCode::Fault);
    EXPECT_EQ(device().allocate(1).error().code(), ErrorCode::DeviceFault);
    fake().calls.clear();
  }

  int callers_device_ = 0;
  std::optional<GpuDevice<FakeApi>> device_{std::in_place, 1};
};

}  // namespace tandem::device::gpu
