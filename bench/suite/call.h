#pragma once

#include "bench/suite/measure.h"
#include "bench/suite/raw_model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem::suite {

/// Something to be called again and again, through Tandem or raw. Thread-safety: one thread at a time.
class Call {
 public:
  virtual ~Call() = default;
  [[nodiscard]] virtual Status enqueue() = 0;
  /// Whether enqueue() returns when the work is done, so that there is no wait().
  [[nodiscard]] virtual bool waits_by_itself() const { return false; }
  [[nodiscard]] virtual Status wait() { return {}; }
  /// Overwrites the output of the last call with what is no result.
  [[nodiscard]] virtual Status spoil() = 0;
  /// The output of the last call.
  [[nodiscard]] virtual Result<Bytes> read() = 0;
  /// The output of a call made for that.
  [[nodiscard]] virtual Result<Bytes> result();
  /// Executions in one enqueue().
  [[nodiscard]] virtual std::size_t executions() const { return 1; }
};

/// A way that makes the call.
[[nodiscard]] Way way_of(std::string name, std::shared_ptr<Call> call, std::string against = {}, Goal goal = {});

/// The bytes of a model's inputs, in their order.
using Inputs = std::vector<Bytes>;
/// some_floats() for every input; `rows`: the first extent of dynamic ones, 0 for the upper bound.
[[nodiscard]] Inputs some_inputs(const Model& model, std::uint32_t salt = 0, std::int64_t rows = 0);
/// What the host computes, from states of zeros.
[[nodiscard]] Result<std::vector<float>> expected_of(const Model& model, const Inputs& inputs, std::int64_t rows = 0);

/// What one call is about.
struct CallSpec {
  const Model& model;
  const Inputs& inputs;
  std::int64_t rows = 0;       ///< The first extent of dynamic values; 0: the upper bound.
  bool brings_inputs = false;  ///< Raw calls that share buffers on the host: each copies its inputs there first.
};

/// A loaded method with tensors of its own. On the host, and where the model has its inputs there, a call is
/// execute_into(); else execute_async() with a bound output, and wait() waits for the execution's event.
class TandemCall final : public Call {
 public:
  /// `stream`: where it runs; null: where the method's options say. It outlives the call.
  [[nodiscard]] static Result<std::shared_ptr<TandemCall>> create(Machine& machine,
                                                                  std::shared_ptr<LoadedMethod> method,
                                                                  const CallSpec& spec, const Stream* stream = nullptr);
  Status enqueue() override;
  bool waits_by_itself() const override { return waits_; }
  Status wait() override;
  Status spoil() override;
  Result<Bytes> read() override;
  /// Makes the graphs of such calls, in every instance.
  [[nodiscard]] Status prepare() { return method_->prepare(inputs_, options()); }
  [[nodiscard]] LoadedMethod& method() { return *method_; }

 private:
  explicit TandemCall(Machine& machine) : machine_{machine} {}
  ExecuteOptions options() const;
  Machine& machine_;
  std::shared_ptr<LoadedMethod> method_{};
  std::vector<Value> inputs_{};
  std::vector<Tensor> bound_{};   ///< The output, where it is bound.
  std::vector<Value> outputs_{};  ///< Where it is not.
  std::optional<StreamRef> stream_{};
  std::optional<Execution> last_{};
  std::size_t output_bytes_ = 0;
  bool waits_ = false;
};

/// Bytes that a raw call brings to the device or back.
struct HostCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<void> staging{};
};

enum class RawKind : std::uint8_t { Launches, Graph, ForkedGraph };

/// The same kernels without Tandem, on a stream of the bench's; on the host a loop of plain calls. With inputs on the
/// host of a method that is not: copies from and to staging memory around them.
class RawCall final : public Call {
 public:
  /// `mark` is its event on the stream. Several calls may share `raw`, one at a time.
  [[nodiscard]] static Result<std::shared_ptr<RawCall>> create(Machine& machine, std::shared_ptr<RawStream> stream,
                                                               std::shared_ptr<RawModel> raw, RawKind kind,
                                                               const CallSpec& spec, std::size_t mark = 0);
  /// The same with a stream and buffers of its own.
  [[nodiscard]] static Result<std::shared_ptr<RawCall>> create(Machine& machine, RawKind kind, const CallSpec& spec);
  Status enqueue() override;
  bool waits_by_itself() const override { return waits_; }
  Status wait() override { return stream_->wait(mark_); }
  Status spoil() override;
  Result<Bytes> read() override;

 private:
  RawCall() = default;
  std::shared_ptr<RawStream> stream_{};
  std::shared_ptr<RawModel> raw_{};
  std::unique_ptr<RawGraph> graph_{};
  std::vector<KernelCall> calls_{};
  std::vector<HostCopy> uploads_{};
  std::optional<HostCopy> download_{};
  std::size_t output_ = 0;
  std::size_t output_bytes_ = 0;
  std::size_t mark_ = 0;
  bool waits_ = false;
};

/// Calls that are enqueued one after the other, and then waited for. The result is all of theirs in a row.
[[nodiscard]] std::shared_ptr<Call> together(std::vector<std::shared_ptr<Call>> calls);
/// One of the calls at a time, by `order`, which starts again at its end. The result is that of each call in a row.
[[nodiscard]] std::shared_ptr<Call> in_turn(std::vector<std::shared_ptr<Call>> calls, std::vector<std::size_t> order);
/// `count` executions back to back, of which as many are under way as there are calls: each is enqueued when the one as
/// many before it is done.
[[nodiscard]] std::shared_ptr<Call> back_to_back(std::vector<std::shared_ptr<Call>> calls, std::size_t count);
/// A thread for each call, which makes it `count` times: enqueue, wait.
[[nodiscard]] std::shared_ptr<Call> on_threads(Machine& machine, std::vector<std::shared_ptr<Call>> calls,
                                               std::size_t count);

}  // namespace tandem::suite
