#pragma once

#include "device/host/host_stream.h"

namespace tandem::device {

/// Runs every piece of work on the calling thread before the call returns: no queue, no thread, no lock.
class InlineStream final : public HostStream {
 public:
  [[nodiscard]] bool is_inline() const noexcept override { return true; }
  [[nodiscard]] Status submit(Work work, void* data, std::uint32_t index) override;
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] Status fill(void* to, std::byte value, std::size_t bytes) override;

 private:
  Status drain() override { return {}; }
  void mark(HostEvent& event) override { event.mark(nullptr, 0); }
  Status wait_for(const HostEvent& event) override { return event.synchronize(); }
};

}  // namespace tandem::device
