#pragma once

#include "device/device.h"

namespace tandem::device {

/// The CPU. Its per-thread stream runs work on the calling thread, at once: no queue, no thread, no lock.
class HostDevice final : public Device {
 public:
  [[nodiscard]] static HostDevice& instance() noexcept;

  [[nodiscard]] DeviceId id() const noexcept override { return {}; }
  [[nodiscard]] Result<Buffer> allocate(std::size_t bytes) override;
  [[nodiscard]] Stream& thread_stream() noexcept override;
  [[nodiscard]] Result<std::unique_ptr<Event>> make_event() override;

 private:
  HostDevice() = default;
  void free(std::byte* data) noexcept override;
};

}  // namespace tandem::device
