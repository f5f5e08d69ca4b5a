#pragma once

#include "device/device.h"
#include "split_program.h"
#include "support/reference_engine/reference_provider.h"

#include <tandem/method.h>
#include <tandem/program.h>
#include <tandem/stream.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Where the situations of the seed test happen: a GPU, or what looks like one.
namespace tandem::split {

/// A loaded method, Tandem's own or one on a device that Tandem does not know.
class LoadedMethod {
 public:
  virtual ~LoadedMethod() = default;
  [[nodiscard]] virtual Result<std::vector<Value>> execute(std::span<const Value> inputs,
                                                           const ExecuteOptions& options) = 0;
  [[nodiscard]] virtual Result<Execution> execute_async(std::span<const Value> inputs,
                                                        const ExecuteOptions& options) = 0;
  [[nodiscard]] virtual std::vector<GraphInfo> graphs() const = 0;
};

/// LoadedMethod over a class with the same members.
template <class Loaded>
class LoadedAs final : public LoadedMethod {
 public:
  explicit LoadedAs(std::shared_ptr<Loaded> method) : method_{std::move(method)} {}
  Result<std::vector<Value>> execute(std::span<const Value> inputs, const ExecuteOptions& options) override {
    return method_->execute(inputs, options);
  }
  Result<Execution> execute_async(std::span<const Value> inputs, const ExecuteOptions& options) override {
    return method_->execute_async(inputs, options);
  }
  std::vector<GraphInfo> graphs() const override { return method_->graphs(); }

 private:
  std::shared_ptr<Loaded> method_;
};

/// Hands work to another runner, and remembers the auxiliary streams of engines.
class WatchedRunner final : public testing::KernelRunner {
 public:
  explicit WatchedRunner(testing::KernelRunner& inner) : inner_{inner} {}
  [[nodiscard]] DeviceType device_type() const noexcept override { return inner_.device_type(); }
  [[nodiscard]] Status launch(device::Stream& stream, const testing::ReferenceCall& call, int kernel,
                              std::function<void(bool)> around) override {
    return inner_.launch(stream, call, kernel, std::move(around));
  }
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override {
    TANDEM_TRY(auto made, inner_.make_stream());
    const std::scoped_lock lock{mutex_};
    auxiliary_.push_back(made.get());
    return made;
  }
  /// Of all engines that were loaded since the last forget(). Lifetime: their engines'.
  [[nodiscard]] std::vector<device::Stream*> auxiliary() const {
    const std::scoped_lock lock{mutex_};
    return auxiliary_;
  }
  void forget() {
    const std::scoped_lock lock{mutex_};
    auxiliary_.clear();
  }

 private:
  testing::KernelRunner& inner_;
  mutable std::mutex mutex_;
  std::vector<device::Stream*> auxiliary_;
};

/// A graph that the user's own code captured.
class CallersGraph {
 public:
  virtual ~CallersGraph() = default;
  [[nodiscard]] virtual Status launch(StreamRef stream) = 0;
};

/// What the mathematics says of the output of one input.
struct Expected {
  std::size_t input = 0;
  std::vector<double> values{};
  double tolerance = 1e-4;  ///< |found - expected| <= tolerance * (1 + |expected|).
};

class Machine {
 public:
  virtual ~Machine() = default;

  [[nodiscard]] virtual device::Device& device() = 0;
  /// What a program has: delegates of both backends in turn, or one of either.
  enum class Content : std::uint8_t { Split, OneCuda, OneEngine };
  virtual Status write(Writer& writer, Content content) = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> sizes() const = 0;
  /// Input `index`; the numbers are those of the C order.
  [[nodiscard]] virtual std::vector<float> input(std::size_t index) const = 0;
  /// Of the split program, for inputs whose outputs are known. Empty: nobody knows.
  [[nodiscard]] virtual std::vector<Expected> mathematics() const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program,
                                                                   MethodOptions options) = 0;
  /// Keeps a stream busy.
  virtual Status spin(StreamRef stream, std::chrono::milliseconds time) = 0;
  /// What `body` enqueues on the stream becomes a graph, captured as users' code does. `mode`: 0 global, 1
  /// thread-local, 2 relaxed.
  virtual Result<std::unique_ptr<CallersGraph>> capture(StreamRef stream, int mode,
                                                        const std::function<void()>& body) = 0;
  /// What a neighbour in the process does: waits for the whole device, allocates and frees. Whether nobody minded.
  virtual bool disturb() = 0;
  /// Begins captures, and never finishes them as they should be.
  virtual Status abandon_captures() = 0;
  /// How often a situation is tried, each time with another seed.
  [[nodiscard]] virtual std::uint64_t rounds() const = 0;
  /// Another order for work that nothing orders, where the machine can choose.
  virtual void reseed(std::uint64_t seed) = 0;
  /// Of the engines that were loaded since forget().
  [[nodiscard]] virtual WatchedRunner& runner() = 0;
  /// Null: the engines are TensorRT's own.
  [[nodiscard]] virtual const testing::ReferenceProvider* provider() const = 0;
};

/// A machine that tests are run on. make() gives an empty pointer and says why, if it is not there.
struct MachineKind {
  std::string name{};  ///< Letters, digits and underscores.
  std::function<std::unique_ptr<Machine>(std::string& why_not)> make{};
  bool is_required = false;  ///< Not being there is a failure.
};

/// For messages of GoogleTest.
inline void PrintTo(const MachineKind& kind, std::ostream* out) { *out << kind.name; }

/// Of this program: each test program defines it.
[[nodiscard]] std::vector<MachineKind> machine_kinds();

}  // namespace tandem::split
