#pragma once

#include "support/reference_engine/reference_engine.h"

#include <tandem/program.h>
#include <tandem/program_builder.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The program of the seed test: x -> CudaBackend -> TensorRTBackend -> CudaBackend -> ... -> y.
namespace tandem::split {

inline constexpr const char* kCuda = "CudaBackend";
inline constexpr const char* kTensorRt = "TensorRTBackend";
/// Calls of either backend that a split program has at least.
inline constexpr std::size_t kPairs = 13;
/// Different inputs of a test.
inline constexpr std::size_t kInputs = 16;

struct Files {
  std::filesystem::path pte{};
  std::vector<std::filesystem::path> ptd{};
};

/// A folder for a program: in the build folder, or where that is not there, with temporary files.
[[nodiscard]] std::filesystem::path folder_for(const std::string& name);

/// Calls by backend.
struct Calls {
  std::size_t cuda = 0;
  std::size_t engines = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
};

/// What a reference engine does.
struct EngineWork {
  float scale = 1;
  float amount = 0;
  std::int64_t spin_cycles = 0;
  bool has_auxiliary_stream = false;
};
inline constexpr std::int64_t kLongCycles = 100000;  ///< Some 50 us on a GPU.
inline constexpr std::int64_t kShortCycles = 500;

/// Writes the program call by call. Every value is float.
class Writer {
 public:
  /// `io` is where the program says that its input and output are.
  Writer(const std::vector<std::int64_t>& sizes, DeviceId io);

  [[nodiscard]] ProgramBuilder& program() noexcept { return program_; }
  [[nodiscard]] DelegateHandle delegate(const DelegateSpec& spec) { return method_.delegate(spec); }
  /// y = f(what the last call gave), of `sizes`; empty: as it is.
  void call_cuda(DelegateHandle delegate, const std::vector<std::int64_t>& sizes = {});
  /// scale * (what the last call gave) + amount. Each engine is a delegate of its own.
  void call_affine(const EngineWork& work);
  /// scale * (what the last call gave) + x + amount. Both have the same sizes.
  void call_add_input(const EngineWork& work);
  /// An engine from elsewhere, with one input and one output.
  void call_engine(std::span<const std::byte> payload);

  [[nodiscard]] const Calls& calls() const noexcept { return calls_; }
  [[nodiscard]] const std::vector<std::int64_t>& last_sizes() const noexcept { return last_sizes_; }
  /// The last call gives the output. Writes split_program.pte and split_program.ptd into `folder`.
  [[nodiscard]] Result<Files> save(const std::filesystem::path& folder);

 private:
  /// A call whose output is not written yet: where that is depends on whether it is the last.
  struct Pending {
    DelegateHandle delegate{};
    std::vector<ValueHandle> inputs{};
  };
  TensorHandle last_value();
  TensorHandle write_pending(DeviceId device);
  void call(const EngineWork& work, testing::ReferenceEngine engine, std::vector<ValueHandle> inputs);

  ProgramBuilder program_;
  MethodBuilder& method_;
  DeviceId io_;
  TensorHandle x_;
  std::vector<std::int64_t> last_sizes_;
  std::optional<Pending> pending_{};
  Calls calls_{};
};

/// Counts the calls of the method "forward" as its file has them.
[[nodiscard]] Calls count_calls(const Program& program);

/// y = scale * x + amount, of engines with an input that is added: + x of the method.
struct Link {
  float scale = 1;
  float amount = 0;
  bool adds_input = false;
};
/// What the engine behind the `pair`-th delegate of CudaBackend computes in programs of links.
[[nodiscard]] Link engine_link(std::size_t pair);
/// Adds that engine. Every second one is long, every third has an auxiliary stream.
void call_engine_link(Writer& writer, std::size_t pair);
/// The mathematics of a chain of links.
[[nodiscard]] double value_after(const std::vector<Link>& links, double x);

/// Whether that is what the mathematics says, but for the rounding of some dozens of operations.
[[nodiscard]] bool is_close(double found, double expected);

}  // namespace tandem::split
