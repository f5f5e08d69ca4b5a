#pragma once

#include "device/host/seeded_host.h"

#include <tandem/backend.h>
#include <tandem/stream_ref.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A GPU as far as the runtime can tell: a device `cuda:0` with memory and streams of its own, which runs no host work.
/// Its "kernels" are functions that a seeded scheduler runs; they may touch nothing but its memory.
class SimulatedGpu final : public device::Device {
 public:
  explicit SimulatedGpu(std::uint64_t seed) : inner_{seed} {}
  ~SimulatedGpu() override;

  void reseed(std::uint64_t seed) { inner_.reseed(seed); }
  /// Enqueues a kernel. `stream` is one of this device.
  static Status launch(StreamRef stream, std::function<void()> kernel);
  /// Enqueues a kernel with programmatic stream serialization that never waits for the one before it: it runs before a
  /// kernel right ahead of it on the stream, if that one has not begun. What comes after waits for both.
  static Status launch_overlapping(StreamRef stream, std::function<void()> kernel);
  /// A call of a kernel of fake_kernel.h, with copies of its arguments: pointers to addresses, up to a null one.
  [[nodiscard]] static std::function<void()> call_of(const void* function, void* const* arguments);
  /// Whether all of the bytes are in one block of the device's memory.
  [[nodiscard]] bool owns(const void* data, std::size_t bytes) const;

  /// What a caller does with its own runtime: from now on the stream captures.
  static void begin_capture(StreamRef stream);
  /// A graph of the caller's.
  class CallersGraph {
   public:
    ~CallersGraph();
    Status launch(StreamRef stream) const;
    std::vector<std::function<void()>> nodes{};
    std::vector<void*> kept{};
  };
  [[nodiscard]] static std::shared_ptr<CallersGraph> end_capture(StreamRef stream);

  struct Counts {
    int copies = 0;
    std::size_t copied_bytes = 0;
    int launches = 0;
    int graph_launches = 0;
    int graphs = 0;  ///< Made.
    int synchronizes = 0;
  };
  [[nodiscard]] Counts counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }
  /// So many graphs from now on find no memory; so many launches of graphs fail.
  void fail_graphs(int making, int launching) {
    failing_graphs_ = making;
    failing_launches_ = launching;
  }
  /// What its timers tell. Without it there are none.
  void tell_times(std::function<std::chrono::nanoseconds()> time) { time_ = std::move(time); }
  [[nodiscard]] Result<std::unique_ptr<device::Timer>> make_timer() override;
  /// Graphs lack the edge `which` of those that are asked for from now on.
  void lose_edge(int which) { lost_edges_ = which; }

  [[nodiscard]] DeviceId id() const noexcept override { return {DeviceType::Cuda, 0}; }
  [[nodiscard]] Result<device::Buffer> allocate(std::size_t bytes) override;
  [[nodiscard]] Result<device::Buffer> allocate_staging(std::size_t bytes) override { return inner_.allocate(bytes); }
  [[nodiscard]] device::Stream& thread_stream() noexcept override;
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override;
  /// A KernelLaunch's function is a `const std::function<void()>*`; with arguments, a kernel of fake_kernel.h.
  [[nodiscard]] Result<std::unique_ptr<device::GraphBuilder>> make_graph() override;

 private:
  struct Launched;
  class Graph;
  class Builder;
  struct Capture;
  class GpuStream;
  class GpuEvent;
  void free(std::byte* data) noexcept override;

  device::SeededHost inner_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, device::Buffer> blocks_{};
  std::map<std::thread::id, std::unique_ptr<device::Stream>> of_threads_{};
  Counts counts_{};
  std::function<std::chrono::nanoseconds()> time_{};
  int lost_edges_ = -1;
  int failing_graphs_ = 0;
  int failing_launches_ = 0;
};

/// A backend whose delegates are kernels of a SimulatedGpu: `function` gets the call's tensors, which it may keep.
class KernelBackend final : public Backend {
 public:
  using Kernel = std::function<void(const std::vector<TensorArg>& arguments)>;

  KernelBackend(SimulatedGpu& gpu, std::size_t outputs, Kernel kernel, std::vector<AccessMode> accesses = {})
      : gpu_{gpu}, outputs_{outputs}, kernel_{std::move(kernel)}, accesses_{std::move(accesses)} {}
  /// The enqueue that fails, counted over all delegates of this backend; -1: none.
  void fail_at(int call) { failing_ = call; }
  /// From now on recording fails. What may be captured is captured then.
  void refuse_to_record() { records_ = false; }
  void allow_capture() { capturable_ = true; }
  /// Contexts can be recorded only after a run.
  void want_a_run_first() { wants_run_ = true; }
  /// From now on captures fail.
  void refuse_to_be_captured() { captures_ = false; }
  void be_captured_again() { captures_ = true; }

  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                                          const LoadContext& context) const override;

 private:
  class KernelDelegate;
  class KernelContext;

  SimulatedGpu& gpu_;
  std::size_t outputs_;
  Kernel kernel_;
  std::vector<AccessMode> accesses_;
  mutable std::atomic<int> failing_{-1};
  std::atomic<bool> records_{true};
  std::atomic<bool> capturable_{false};
  std::atomic<bool> captures_{true};
  std::atomic<bool> wants_run_{false};
};

/// out = in + amount, for KernelBackend.
[[nodiscard]] KernelBackend::Kernel add_on_gpu(float amount);

}  // namespace tandem::testing
