#pragma once

#include "base/fork.h"
#include "device/gpu/gpu_device.h"

#include <tandem/result.h>

#include <deque>
#include <string>

namespace tandem::device::gpu {

/// The GPUs of one vendor on this machine.
///
/// Thread-safety: any thread.
template <GpuApi Api>
class Devices {
 public:
  /// Never destroyed: at exit the driver may be gone before what still refers to a device is.
  [[nodiscard]] static Devices& instance() {
    static auto* devices = new Devices;
    return *devices;
  }
  /// Asks the driver.
  Devices() {
    int count = 0;
    code_ = Api::device_count(&count);
    if (code_ != Api::kOk) Api::clear_last_error();
    for (int i = 0; code_ == Api::kOk && i < count; ++i) all_.emplace_back(i);
  }

  /// 0 without a driver, and in a forked child.
  [[nodiscard]] int count() const noexcept { return base::is_forked_child() ? 0 : static_cast<int>(all_.size()); }

  /// Errors: NotSupported, no driver or no device; NotFound, naming those that there are; InvalidState, a forked child.
  [[nodiscard]] Result<GpuDevice<Api>*> find(int index) {
    TANDEM_CHECK_OK(base::refuse_forked_child());
    const std::string wanted = to_string(DeviceId{Api::kDeviceType, static_cast<std::int16_t>(index)});
    if (all_.empty()) {
      return Error{ErrorCode::NotSupported, "this machine has no such device, or no driver for it"}
          .with_native(Api::kOrigin, static_cast<std::int64_t>(code_), Api::error_text(code_))
          .with_device(wanted);
    }
    if (index < 0 || static_cast<std::size_t>(index) >= all_.size()) {
      return Error{ErrorCode::NotFound, "this machine has no such device"}
          .with_expected(to_string(all_.front().id()) + " to " + to_string(all_.back().id()), wanted)
          .with_device(wanted);
    }
    return &all_[static_cast<std::size_t>(index)];
  }

  /// The one that is current for the calling thread. Errors: as find().
  [[nodiscard]] Result<GpuDevice<Api>*> current() {
    if (count() == 0) return find(0);
    int index = 0;
    if (const auto code = Api::current_device(&index); code != Api::kOk) {
      return native_error<Api>(code, "no device is current", {Api::kDeviceType, -1});
    }
    return find(index);
  }

 private:
  typename Api::Code code_ = Api::kOk;  ///< What kept the driver from finding devices.
  std::deque<GpuDevice<Api>> all_{};
};

}  // namespace tandem::device::gpu
