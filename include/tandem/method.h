#pragma once

#include <tandem/backend.h>
#include <tandem/export.h>
#include <tandem/options.h>
#include <tandem/program.h>
#include <tandem/result.h>
#include <tandem/value.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tandem {

namespace runtime {
struct Schedule;
class StateStore;
}  // namespace runtime

/// Which stream an execution runs on when neither its options nor a CallerStreamGuard name one.
enum class StreamPolicy : std::uint8_t {
  PerThread,  ///< The calling thread's own stream of the device.
  PerMethod,  ///< A stream that the method owns: independent programs overlap.
  /// A stream per delegate and nothing that orders them: shows what goes wrong without Tandem. Loading refuses it
  /// where it can change results, unless `MethodOptions::allow_races` is set.
  PerDelegate,
};
/// "per-thread", "per-method", "per-delegate".
[[nodiscard]] TANDEM_EXPORT std::string_view name_of(StreamPolicy policy) noexcept;

/// Choices fixed for the life of a Method.
struct MethodOptions {
  DeviceId device{};                                       ///< Where it runs.
  const BackendRegistry* backends = nullptr;               ///< Null: BackendRegistry::global().
  const LoadBackendOptionsMap* backend_options = nullptr;  ///< Read during load only.
  bool allow_native_code = true;  ///< False refuses programs with delegates: their code runs in this process.
  StreamPolicy streams = StreamPolicy::PerThread;
  bool allow_races = false;  ///< Loads what the order check refuses, for demonstrations. Results are then arbitrary.
  /// Mutable buffers that methods share; null gives the method its own. Module passes its own to all its methods.
  std::shared_ptr<runtime::StateStore> states{};
};

struct ExecuteOptions {
  /// Where outputs go: empty, or one entry per output; an undefined tensor means "Tandem's choice".
  /// Shapes: the output's dtype and rank; either dense in the planned layout with at least the output's upper bound of
  ///   bytes, or of exactly the sizes that the run produces, with any strides.
  std::span<const Tensor> outputs{};
};

/// One method of a Program, placed on a device and ready to run many times.
///
/// Lifetime: shares its Program; owns its delegates, memory and states.
/// Thread-safety: any thread may call execute(); runs of one method are ordered one after the other.
class TANDEM_EXPORT Method {
 public:
  /// Resolves every operator and delegate, prepares the delegates, plans the memory and checks the plan. Blocks.
  ///
  /// Errors: MethodNotFound; OperatorMissing and BackendMissing, naming all that are missing at once; NotFound
  ///   (a data key); IncompatibleDelegate; NotSupported; OrderViolation (a step reads bytes that a later value has
  ///   taken); OutOfMemory.
  [[nodiscard]] static Result<std::shared_ptr<Method>> load(std::shared_ptr<const Program> program,
                                                            std::string_view method, const MethodOptions& options = {});
  ~Method();
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  [[nodiscard]] const MethodMeta& meta() const noexcept;

  /// Runs once and waits for the outputs.
  ///
  /// Shapes: one value per input; tensors have the input's dtype and rank, and at most its bytes; any strides.
  /// Lifetime: inputs are read during the call only. Outputs belong to the caller until dropped; where the output
  ///   list names one value twice, both entries share one tensor.
  /// Errors: InvalidArgument, InvalidType (an input, with index, expected and found; nothing has run then);
  ///   BackendFailed; any error of an operator, with the instruction. The method stays usable.
  [[nodiscard]] Result<std::vector<Value>> execute(std::span<const Value> inputs, const ExecuteOptions& options = {});
  /// The same into a caller's array: no allocation once shapes have been seen and earlier outputs were dropped.
  /// Errors: as above; InvalidArgument, `outputs` has the wrong length.
  [[nodiscard]] Status execute_into(std::span<const Value> inputs, std::span<Value> outputs,
                                    const ExecuteOptions& options = {});

  /// What happens in a run, for tools; defined in src/runtime.
  [[nodiscard]] const runtime::Schedule& schedule() const noexcept;

 private:
  struct Impl;
  explicit Method(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
