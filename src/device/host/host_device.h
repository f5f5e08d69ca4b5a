#pragma once

#include "device/device.h"
#include "device/host/host_graph.h"

namespace tandem::device {

/// The CPU. Its per-thread stream runs work on the calling thread, at once; other streams are queues with a thread.
class HostDevice final : public Device {
 public:
  [[nodiscard]] static HostDevice& instance() noexcept;

  [[nodiscard]] DeviceId id() const noexcept override { return {}; }
  [[nodiscard]] Result<Buffer> allocate(std::size_t bytes) override;
  [[nodiscard]] Stream& thread_stream() noexcept override;
  [[nodiscard]] Result<std::unique_ptr<Stream>> make_stream() override;
  [[nodiscard]] Result<std::unique_ptr<GraphBuilder>> make_graph() override { return make_host_graph(); }

 private:
  HostDevice() = default;
  void free(std::byte* data) noexcept override;
};

}  // namespace tandem::device
