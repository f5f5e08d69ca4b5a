#pragma once

#include "bench/suite/kernel_call.h"
#include "runtime/schedule.h"

#include <tandem/backend.h>
#include <tandem/method.h>
#include <tandem/program.h>
#include <tandem/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Where the suite runs: the host, a GPU, or what looks like one. Scenarios know no more than this.
namespace tandem::suite {

/// How delegates of the suite start kernels.
///
/// Thread-safety: any thread.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Whether kernels run on the calling thread.
  [[nodiscard]] virtual bool is_on_host() const noexcept = 0;
  /// Enqueues; where kernels run on the calling thread, it has run. The device is current.
  [[nodiscard]] virtual Status launch(StreamRef stream, const KernelCall& call) = 0;
  [[nodiscard]] virtual Status record(Recorder& recorder, const KernelCall& call) = 0;
};

/// A loaded method, Tandem's own or one on a device that Tandem does not know.
class LoadedMethod {
 public:
  virtual ~LoadedMethod() = default;
  [[nodiscard]] virtual Status execute_into(std::span<const Value> inputs, std::span<Value> outputs,
                                            const ExecuteOptions& options) = 0;
  [[nodiscard]] virtual Result<Execution> execute_async(std::span<const Value> inputs,
                                                        const ExecuteOptions& options) = 0;
  [[nodiscard]] virtual Status prepare(std::span<const Value> inputs, const ExecuteOptions& options) = 0;
  [[nodiscard]] virtual std::vector<GraphInfo> graphs() const = 0;
  [[nodiscard]] virtual const runtime::Schedule& schedule() const = 0;
};

/// LoadedMethod over a class with the same members.
template <class Loaded>
class LoadedAs final : public LoadedMethod {
 public:
  explicit LoadedAs(std::shared_ptr<Loaded> method) : method_{std::move(method)} {}
  Status execute_into(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options) override {
    return method_->execute_into(inputs, outputs, options);
  }
  Result<Execution> execute_async(std::span<const Value> inputs, const ExecuteOptions& options) override {
    return method_->execute_async(inputs, options);
  }
  Status prepare(std::span<const Value> inputs, const ExecuteOptions& options) override {
    return method_->prepare(inputs, options);
  }
  std::vector<GraphInfo> graphs() const override { return method_->graphs(); }
  const runtime::Schedule& schedule() const override { return method_->schedule(); }

 private:
  std::shared_ptr<Loaded> method_;
};

/// A kernel of a raw graph, and the earlier ones that it runs after.
struct RawNode {
  KernelCall call{};
  std::vector<std::uint32_t> after{};
};

/// A graph made without Tandem.
class RawGraph {
 public:
  virtual ~RawGraph() = default;
};

/// A stream without Tandem. Lifetime: the machine outlives it. Thread-safety: none.
class RawStream {
 public:
  static constexpr std::size_t kMarks = 4;  ///< Events of its own.

  virtual ~RawStream() = default;
  /// One after the other.
  [[nodiscard]] virtual Status launch(std::span<const KernelCall> calls) = 0;
  /// Errors: NotSupported, the machine has no graphs.
  [[nodiscard]] virtual Result<std::unique_ptr<RawGraph>> make_graph(std::span<const RawNode> nodes) = 0;
  [[nodiscard]] virtual Status launch(RawGraph& graph) = 0;
  /// Between memory of the device and staging memory of the host.
  [[nodiscard]] virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Records event `mark`; blocks until the event has passed.
  [[nodiscard]] virtual Status record(std::size_t mark) = 0;
  [[nodiscard]] virtual Status wait(std::size_t mark) = 0;
};

/// Lifetime: outlives everything that it makes.
/// Thread-safety: any thread.
class Machine {
 public:
  virtual ~Machine() = default;
  [[nodiscard]] virtual DeviceId device() const = 0;
  /// "NVIDIA H200, driver 580.159".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual std::shared_ptr<Launcher> launcher() = 0;
  /// `options.device` is set by the machine.
  [[nodiscard]] virtual Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program,
                                                                   MethodOptions options) = 0;
  /// A stream of Tandem's.
  [[nodiscard]] virtual Result<Stream> make_stream() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<RawStream>> make_raw_stream() = 0;
  /// Memory of the device; host memory that its copies reach without help.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<void>> allocate_staging(std::size_t bytes) = 0;
  /// Between any host memory and the device's. Blocks until the bytes are there.
  [[nodiscard]] virtual Status copy_now(void* to, const void* from, std::size_t bytes) = 0;
  /// A new thread calls it before it uses the device without Tandem.
  [[nodiscard]] virtual Status enter_thread() { return {}; }
  /// Launches of kernels and graphs in `work`, whoever makes them; nothing where nobody can count.
  [[nodiscard]] virtual Result<std::optional<std::size_t>> launches_in(const std::function<Status()>& work) = 0;
  /// Memory of the device that is in use, by anybody; nothing where nobody can tell.
  [[nodiscard]] virtual std::optional<std::size_t> used_bytes() { return {}; }

  /// Whether kernels are functions on a processor of the host, so that their work has to be little.
  [[nodiscard]] virtual bool is_slow() const { return is_host(); }

  [[nodiscard]] bool is_host() const { return device() == DeviceId{}; }
};

/// The machine for programs on the host: raw work is a loop of plain calls.
[[nodiscard]] std::unique_ptr<Machine> make_host_machine();

}  // namespace tandem::suite
