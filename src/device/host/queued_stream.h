#pragma once

#include "device/host/host_stream.h"

#include <tandem/result.h>

#include <memory>
#include <thread>

namespace tandem::device {

/// A queue with a worker thread. Enqueueing waits only when a thousand pieces are queued, as GPU drivers do.
class QueuedStream final : public HostStream {
 public:
  /// Errors: OutOfMemory, the system has no further thread.
  [[nodiscard]] static Result<std::unique_ptr<Stream>> create();
  ~QueuedStream() override;

  [[nodiscard]] Status submit(Work work, void* data, std::uint32_t index) override;
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] Status fill(void* to, std::byte value, std::size_t bytes) override;

 private:
  Status drain() override;
  class Queue;
  QueuedStream();
  void mark(HostEvent& event) override;
  Status wait_for(const HostEvent& event) override;

  std::shared_ptr<Queue> queue_;  ///< Shared with the worker and with events.
  std::thread worker_{};
};

}  // namespace tandem::device
