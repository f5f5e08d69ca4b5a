#pragma once

#include <tandem/device.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem::device {
class Stream;
}

/// What the backend needs of an inference library: TensorRT's contract, without its headers.
///
/// Tensors are numbered as Engine::tensors() lists them. Errors carry the library's own text as their native error.
namespace tandem::tensorrt {

/// One input or output of an engine.
struct EngineTensor {
  std::string name{};
  bool is_input = false;
  std::optional<ScalarType> dtype{};  ///< Empty: a type that no program has.
  std::string type_name{};            ///< As the library calls it, "kINT4".
  std::string format_name{};          ///< As the library describes it.
  bool is_linear = true;              ///< Rows of elements, nothing packed or padded.
  bool is_on_host = false;            ///< The library reads or writes it on the host.
  bool is_shape_value = false;        ///< Its contents decide shapes.
  std::vector<std::int64_t> sizes{};  ///< -1 where they vary.
  std::vector<std::int64_t> least{};  ///< Inputs: bounds of optimisation profile 0.
  std::vector<std::int64_t> most{};
  std::optional<std::size_t> alias_of{};  ///< Outputs: the input in whose memory the engine writes.
};

/// One sequence of runs: shapes, addresses, scratch. Remembers what it was told until it is told otherwise.
///
/// Order: the shapes of all inputs; infer_shapes(); scratch and addresses, of all tensors; enqueue(). Later calls may
/// change any of it and leave out what stays. One enqueue at a time is under way: the next one is ordered after it. The
/// first enqueue after a change of shapes may not be captured.
/// Thread-safety: none.
class EngineContext {
 public:
  virtual ~EngineContext() = default;
  [[nodiscard]] virtual Status set_shape(std::size_t tensor, std::span<const std::int64_t> sizes) = 0;
  /// Errors: BackendFailed, an output's shape is not known.
  [[nodiscard]] virtual Status infer_shapes() = 0;
  /// Of an output. -1 where the library does not know.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> shape_of(std::size_t tensor) = 0;
  /// What set_scratch() needs at the shapes that are set.
  [[nodiscard]] virtual Result<std::size_t> scratch_bytes() = 0;
  [[nodiscard]] virtual Status set_scratch(std::span<std::byte> memory) = 0;
  /// Not null, a multiple of EngineProvider::alignment().
  [[nodiscard]] virtual Status set_address(std::size_t tensor, void* data) = 0;
  /// Does not wait for the device.
  [[nodiscard]] virtual Status enqueue(device::Stream& stream) = 0;
};

/// Weights and code, shared by contexts, which it outlives.
/// Thread-safety: const members may run concurrently.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual const std::vector<EngineTensor>& tensors() const = 0;
  /// Streams of the library's own that a run uses beside its stream, joined before the run is over.
  [[nodiscard]] virtual std::uint32_t auxiliary_streams() const = 0;
  /// Bytes of weights that may stay in host memory; 0: the engine does not stream.
  [[nodiscard]] virtual std::int64_t streamable_bytes() const = 0;
  /// The library's own choice of a budget.
  [[nodiscard]] virtual std::int64_t automatic_budget() const = 0;
  /// Before the first context.
  [[nodiscard]] virtual Status set_weight_budget(std::int64_t bytes) = 0;
  /// Without scratch of its own.
  [[nodiscard]] virtual Result<std::unique_ptr<EngineContext>> new_context() const = 0;
};

/// Thread-safety: every member may be called from any thread.
class EngineProvider {
 public:
  virtual ~EngineProvider() = default;
  /// What is missing, if anything is.
  [[nodiscard]] virtual Status available() const = 0;
  /// The kind of device that engines run on.
  [[nodiscard]] virtual DeviceType device_type() const noexcept = 0;
  /// Of addresses and scratch, in bytes.
  [[nodiscard]] virtual std::uint32_t alignment() const noexcept = 0;
  /// Blocks. Lifetime: `bytes` only during the call.
  /// Errors: IncompatibleDelegate, another version or compute capability, both sides named; BackendFailed.
  [[nodiscard]] virtual Result<std::unique_ptr<Engine>> deserialize(std::span<const std::byte> bytes,
                                                                    DeviceId device) const = 0;
};

}  // namespace tandem::tensorrt
