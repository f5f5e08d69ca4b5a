#pragma once

#include "device/gpu/gpu_api.h"

namespace tandem::device::gpu {

/// Makes a device current for the calling thread; restores what was current.
template <GpuApi Api>
class DeviceScope {
 public:
  explicit DeviceScope(int device) noexcept : code_{Api::enter(device, &caller_)} {}
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (code_ == Api::kOk) Api::leave(caller_);
  }

  /// Whether the device is current now.
  [[nodiscard]] typename Api::Code code() const noexcept { return code_; }
  /// Whether the caller has another context of the device than Tandem's, a green one for example.
  [[nodiscard]] bool caller_is_foreign() const noexcept { return Api::is_foreign(caller_); }

 private:
  typename Api::Caller caller_{};
  typename Api::Code code_;
};

/// The calling thread may allocate, ask and wait though a stream captures, its own or another thread's in global mode.
template <GpuApi Api>
class RelaxedScope {
 public:
  RelaxedScope() noexcept { static_cast<void>(Api::exchange_capture_mode(&mode_)); }
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;
  ~RelaxedScope() { static_cast<void>(Api::exchange_capture_mode(&mode_)); }

 private:
  CaptureMode mode_ = CaptureMode::Relaxed;
};

}  // namespace tandem::device::gpu
