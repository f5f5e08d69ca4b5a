#pragma once

#include <tandem/backend.h>
#include <tandem/export.h>
#include <tandem/options.h>
#include <tandem/program.h>
#include <tandem/result.h>
#include <tandem/shared_buffers.h>
#include <tandem/stream.h>
#include <tandem/value.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

namespace runtime {
struct Schedule;
class State;
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

/// Whether steps on a device that need no host between them run as one graph: one launch instead of one per kernel.
enum class GraphPolicy : std::uint8_t {
  /// What the first runs, which take turns, show to be the fastest: step by step, a graph, or one with branches.
  Auto,
  Off,
  On,        ///< A graph wherever one can be made, in the order of the program.
  Branches,  ///< The same, and what does not depend on each other side by side.
};
/// "auto", "off", "on", "branches".
[[nodiscard]] TANDEM_EXPORT std::string_view name_of(GraphPolicy policy) noexcept;

/// What became of one stretch of a method that may be a graph, in its last execution.
struct GraphInfo {
  std::uint32_t first_instruction = 0;
  std::uint32_t last_instruction = 0;
  std::size_t graphs = 0;    ///< Kept, each for other addresses and sizes.
  std::size_t nodes = 0;     ///< Kernels and copies of the last one; 0: there is none.
  bool in_use = false;       ///< Executions run it.
  std::size_t branches = 0;  ///< What of it may run side by side; 1: all in a row.
  std::string refusal{};     ///< Why there is none, for people.
  /// Units: median time of an execution step by step, as a graph in a row, and with branches; 0 where they were not
  /// compared.
  std::chrono::nanoseconds steps_time{};
  std::chrono::nanoseconds graph_time{};
  std::chrono::nanoseconds branches_time{};
};

/// Sizes that the caller says one axis of an input may have. A `.pte` holds upper bounds only.
struct InputBounds {
  std::string method{};  ///< Name of the method; empty: every method that is loaded with these options.
  std::size_t input = 0;
  std::size_t axis = 0;
  std::int64_t min = 1;  ///< 0: the program handles size 0. Believed unless a delegate's library says otherwise.
  std::int64_t max = INT64_MAX;
};

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
  /// Which buffers of one name are one buffer, in all methods and delegates. Undecided: what the program says in its
  /// constant method `get_mutable_buffer_metadata`, if it has one. See docs/state.md.
  SharedBuffers shared_buffers{};
  /// Executions of this method that may be under way next to each other, each with memory of its own; weights exist
  /// once. Executions on one state take turns all the same.
  std::uint32_t instances = 1;
  std::uint32_t max_in_flight = 2;  ///< Executions that may be enqueued per instance before the next call waits.
  GraphPolicy graphs = GraphPolicy::Auto;
  /// Narrows the sizes of inputs, or states that they may be 0. Several entries for one axis all hold.
  std::vector<InputBounds> input_bounds{};
  std::uint32_t max_graphs = 16;  ///< Kept per instance and stretch of steps; the one used longest ago goes.
  /// Host only: streams that the method chooses or makes come from it.
  std::shared_ptr<SeededScheduler> scheduler{};
};

/// Mutable buffers of one method that outlive an execution (KV caches, counters), and what its delegates keep.
///
/// Lifetime: shares the method's program.
/// Thread-safety: everything may be called from any thread; executions on one state are ordered one after the other.
class TANDEM_EXPORT State {
 public:
  explicit State(std::shared_ptr<runtime::State> impl) noexcept : impl_{std::move(impl)} {}

  /// Back to the initial bytes. Blocks until executions on it are over. Also resets what other methods share with it.
  /// Errors: OutOfMemory; InvalidState, called by work on a stream; what the delegates say.
  [[nodiscard]] Status reset();
  /// Whether an execution failed after it may have changed the state: executions on it are refused until reset().
  [[nodiscard]] bool is_indeterminate() const noexcept;

  [[nodiscard]] const std::shared_ptr<runtime::State>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<runtime::State> impl_;
};

/// Runs a job some time later, on another thread. It may not drop the job: an execution whose job is dropped fails.
using Executor = std::function<void(std::function<void()> job)>;

struct ExecuteOptions {
  /// Where outputs go: empty, or one entry per output; an undefined tensor means "Tandem's choice".
  /// Shapes: the output's dtype and rank; either dense in the planned layout with at least the output's upper bound of
  ///   bytes, or of exactly the sizes that the run produces, with any strides that give each element a place of its
  ///   own. No two outputs share a byte; they may be woven into one buffer. An output may be bound over an input of the
  ///   same execution, which is then copied first.
  /// Errors: InvalidArgument, elements overlap, naming the method, the output and its strides.
  std::span<const Tensor> outputs{};
  /// Where to run; else the CallerStreamGuard's stream, else what MethodOptions::streams says.
  std::optional<StreamRef> stream{};
  /// The execution starts after these.
  std::span<const Event> inputs_ready{};
  /// The state to run on; null: the method's own.
  std::shared_ptr<State> state{};
  /// When `max_in_flight` executions are enqueued: wait for one of them, or return Busy.
  bool wait_if_busy = true;
  /// execute_async() only: runs what the stream cannot run by itself.
  Executor executor{};
};

/// An execution that was enqueued. Dropping it changes nothing for the execution.
///
/// Thread-safety: everything may be called from any thread.
class TANDEM_EXPORT Execution {
 public:
  /// What the running side and the handles share; defined by the implementation.
  struct Shared;
  explicit Execution(std::shared_ptr<Shared> shared) noexcept : shared_{std::move(shared)} {}

  /// Passes when the execution is over; its synchronize() returns the execution's error.
  [[nodiscard]] const Event& done() const noexcept;
  /// One entry per output, at once: tensors whose bytes, and sizes where they depend on the inputs, are there when
  /// done() has passed. Other outputs, and all of an execution that waits for an Executor, are None here.
  [[nodiscard]] std::span<const Value> outputs() const noexcept;
  /// Blocks until done() has passed, then returns all outputs.
  /// Errors: as Method::execute(), for this execution.
  [[nodiscard]] Result<std::vector<Value>> get() const;

 private:
  std::shared_ptr<Shared> shared_;
};

/// One method of a Program, placed on a device and ready to run many times.
///
/// Lifetime: shares its Program; owns its delegates, memory and states.
/// Thread-safety: any thread may call anything. Executions on one instance or one state happen one after the other, in
///   the order of the calls, on whatever streams they are; the host does not wait for that.
class TANDEM_EXPORT Method {
 public:
  /// Resolves every operator and delegate, prepares the delegates, plans the memory and checks the plan. Blocks.
  ///
  /// Errors: MethodNotFound; OperatorMissing and BackendMissing, naming all that are missing at once; NotFound
  ///   (a data key); IncompatibleDelegate; NotSupported; OrderViolation (a step reads bytes that a later value has
  ///   taken; with StreamPolicy::PerDelegate also: delegates are not ordered); OutOfMemory; InvalidArgument
  ///   (`instances` or `max_in_flight` is 0, more instances than a delegate can run at once, `input_bounds` of an input
  ///   or axis that is not there or that leave no size).
  [[nodiscard]] static Result<std::shared_ptr<Method>> load(std::shared_ptr<const Program> program,
                                                            std::string_view method, const MethodOptions& options = {});
  /// Blocks until enqueued executions are over.
  ~Method();
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  [[nodiscard]] const MethodMeta& meta() const noexcept;
  /// Where it runs.
  [[nodiscard]] DeviceId device() const noexcept;

  /// Runs once. Blocks until the outputs that live on the host are there.
  ///
  /// Shapes: one value per input; tensors have the input's dtype and rank, and sizes within TensorInfo::bounds of
  ///   meta(); any strides.
  /// Lifetime: inputs are read until the execution is over. Outputs belong to the caller until dropped; where the
  ///   output list names one value twice, both entries share one tensor.
  /// Errors: InvalidArgument, InvalidType (an input, with index, expected and found; a stream, event or state that does
  ///   not belong here; nothing has run then); InvalidState (the state is indeterminate; another method has changed a
  ///   buffer of which nothing says whether it is one with a buffer of this method; a forked child; called by work on a
  ///   stream); Busy; BackendFailed; any error of an operator, with the instruction. The method stays usable.
  /// On a stream that the caller captures, the execution becomes a part of the caller's graph and nothing runs; see
  ///   docs/graphs.md. Errors then: NotSupported (a value on the host, a step that no graph can hold); InvalidState
  ///   (the method's own state); InvalidArgument (`inputs_ready`); nothing was added.
  [[nodiscard]] Result<std::vector<Value>> execute(std::span<const Value> inputs, const ExecuteOptions& options = {});
  /// The same into a caller's array: no allocation once shapes have been seen and earlier outputs were dropped.
  /// Errors: as above; InvalidArgument, `outputs` has the wrong length.
  [[nodiscard]] Status execute_into(std::span<const Value> inputs, std::span<Value> outputs,
                                    const ExecuteOptions& options = {});

  /// Enqueues once and returns at once. Where the stream runs everything inline (the host's per-thread stream), the
  /// execution is over when the call returns, unless there is an executor.
  ///
  /// Lifetime: the tensors of `inputs` and `options.outputs` are kept; memory of the caller's under them stays valid,
  ///   and inputs unchanged, until `done` has passed. A tensor may be dropped while it is in use.
  /// Errors: as execute(), if nothing was enqueued; WouldBlock, a step (MethodMeta::is_fully_async()) or an output
  ///   that is bound to memory of the host needs the host, and there is no executor. Later ones are those of
  ///   `done`.
  [[nodiscard]] Result<Execution> execute_async(std::span<const Value> inputs, const ExecuteOptions& options = {});

  /// Makes the graphs of executions like this one ahead of time, in every instance: same sizes and numbers, and where
  /// inputs and bound outputs are on the device, same addresses. Runs nothing, and changes no state. Blocks until
  /// earlier executions are over. Nothing to do on the host, and with GraphPolicy::Off. Steps of the host are passed
  /// over, so sizes that depend on their results are not prepared for.
  /// Errors: as execute(), before anything is enqueued; InvalidState, the stream captures; NotSupported, a delegate
  ///   has never run at these sizes, or can be in no graph.
  [[nodiscard]] Status prepare(std::span<const Value> inputs, const ExecuteOptions& options = {});
  /// What became of the stretches that may be graphs, in the order of the method; of one instance. Empty on the host,
  /// and where the method was loaded without graphs. Blocks while every instance is being enqueued on.
  [[nodiscard]] std::vector<GraphInfo> graphs() const;

  /// A further state, at its initial bytes. Null if the method keeps nothing from one execution to the next.
  /// Errors: OutOfMemory; what the delegates say; NotSupported, the method shares a buffer with other methods, which
  ///   could not find it in a state of one method (names it).
  [[nodiscard]] Result<std::shared_ptr<State>> new_state();
  /// The method's own state; null if it keeps nothing.
  [[nodiscard]] std::shared_ptr<State> state() const noexcept;

  /// What happens in a run, for tools; defined in src/runtime.
  [[nodiscard]] const runtime::Schedule& schedule() const noexcept;

 private:
  struct Impl;
  explicit Method(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
