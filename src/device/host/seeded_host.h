#pragma once

#include "device/device.h"
#include "device/host/host_graph.h"

#include <cstdint>
#include <memory>

namespace tandem::device {

/// The CPU with streams whose work one thread runs in an order that a seed picks. See tandem::SeededScheduler.
class SeededHost final : public Device {
 public:
  explicit SeededHost(std::uint64_t seed);
  ~SeededHost() override;

  void reseed(std::uint64_t seed);

  [[nodiscard]] DeviceId id() const noexcept override { return {}; }
  [[nodiscard]] Result<Buffer> allocate(std::size_t bytes) override;
  [[nodiscard]] Stream& thread_stream() noexcept override;
  [[nodiscard]] Result<std::unique_ptr<Stream>> make_stream() override;
  [[nodiscard]] Result<std::unique_ptr<GraphBuilder>> make_graph() override { return make_host_graph(); }

 private:
  class World;
  class Queue;
  class SeededStream;
  void free(std::byte* /*data*/) noexcept override {}  // its buffers are HostDevice's

  std::shared_ptr<World> world_;
};

}  // namespace tandem::device
