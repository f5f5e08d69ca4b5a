#pragma once

#include "base/fair_gate.h"
#include "device/device.h"
#include "runtime/execute/outputs.h"
#include "runtime/execute/trial.h"
#include "runtime/schedule.h"
#include "runtime/state.h"

#include <tandem/method.h>
#include <tandem/result.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::runtime {

class Lane;
class Run;

/// Puts executions of one loaded method on streams: picks stream and instance, orders each execution after what it
/// conflicts with, and notes what later ones must wait for.
///
/// Lifetime: executions under way keep it alive.
/// Thread-safety: any thread.
class Dispatcher : public std::enable_shared_from_this<Dispatcher> {
 public:
  /// `state` is null if the method has none. `device` outlives the dispatcher.
  /// Errors: InvalidArgument, as Method::load(); OutOfMemory; what Delegate::new_context() says.
  [[nodiscard]] static Result<std::shared_ptr<Dispatcher>> create(std::shared_ptr<const Schedule> schedule,
                                                                  device::Device& device, std::shared_ptr<State> state,
                                                                  const MethodOptions& options);
  ~Dispatcher();

  /// Whether executions need no host between their start and their end.
  [[nodiscard]] bool is_fully_async() const noexcept;
  /// Errors: as Method::execute_into().
  [[nodiscard]] Status execute(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options);
  /// The same, and what it enqueued is over when it returns, wherever the outputs are.
  [[nodiscard]] Status execute_to_end(std::span<const Value> inputs, std::span<Value> outputs,
                                      const ExecuteOptions& options);
  /// Errors: as Method::execute_async().
  [[nodiscard]] Result<Execution> execute_async(std::span<const Value> inputs, const ExecuteOptions& options);
  /// Errors: as Method::prepare().
  [[nodiscard]] Status prepare(std::span<const Value> inputs, const ExecuteOptions& options);
  /// Of the first instance that nobody enqueues on. Blocks for a turn.
  [[nodiscard]] std::vector<GraphInfo> graphs();
  /// Blocks until nothing is under way. Errors: InvalidState, called by work on a stream.
  [[nodiscard]] Status wait_until_idle();

 private:
  Dispatcher(std::shared_ptr<const Schedule> schedule, device::Device& device, std::shared_ptr<State> state,
             const MethodOptions& options);
  class Inside;
  class Turn;
  /// Before anything is enqueued. Whether the stream captures.
  Result<bool> check(std::span<const Value> inputs, const ExecuteOptions& options, const device::Stream& stream) const;
  Status check_linked_buffers(const ExecuteOptions& options, const device::Stream& stream);
  /// On a stream that captures.
  Status capture(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options,
                 device::Stream& stream);
  device::Stream& choose_stream(const ExecuteOptions& options) const;
  State* choose_state(const ExecuteOptions& options) const noexcept;
  Result<Lane*> enter(const device::Stream& stream, const ExecuteOptions& options);
  Lane* choose_lane(const device::Stream& stream) const;
  void leave(Lane& lane, const device::Stream& stream) noexcept;
  using Clock = std::chrono::steady_clock;
  struct Started {
    Event done{};                    ///< At the run's end; undefined if it is over.
    std::vector<TrialRun> trials{};  ///< That the run is a part of.
    Clock::time_point begin{};       ///< Once it had its turn.
  };
  /// Runs it, or enqueues it.
  Result<Started> start(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options,
                        bool is_awaited);
  /// Waits for it, if it `is_awaited`.
  static Status finish(const Started& run, bool is_awaited);
  static Status prepare_graphs(Lane& lane, State* state, std::span<const Value> inputs, device::Stream& stream,
                               const ExecuteOptions& options);
  static void report(std::span<const TrialRun> trials, Trial::Span span, Clock::time_point begin);
  /// On a stream that runs everything at once.
  Status run_inline(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                    const ExecuteOptions& options);
  /// A schedule over several streams: the host walks with it.
  Status run_with_host(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                       const ExecuteOptions& options);
  /// On a device: the calling thread walks the steps and enqueues each. Returns the event at the run's end.
  /// `is_awaited`: whoever called it times the run.
  Result<Event> enqueue_steps(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                              const ExecuteOptions& options, bool is_awaited);
  /// With the device current.
  Result<Event> enqueue_steps_here(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                                   const ExecuteOptions& options, bool is_awaited);
  /// On a queued stream of the host. `shared` is null if the caller waits, so that its spans stay valid. Returns the
  /// event at the run's end.
  Result<Event> enqueue(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                        std::shared_ptr<Execution::Shared> shared, const ExecuteOptions& options);
  /// Gives the execution to the executor.
  Result<Execution> post(std::span<const Value> inputs, std::shared_ptr<Execution::Shared> shared,
                         const ExecuteOptions& options);

  std::shared_ptr<const Schedule> schedule_;
  device::Device& device_;
  std::shared_ptr<State> state_;
  GraphPolicy graphs_;
  std::shared_ptr<SeededScheduler> scheduler_;    ///< Owns the device if there is one.
  std::unique_ptr<device::Stream> own_stream_{};  ///< StreamPolicy::PerMethod.
  [[nodiscard]] bool on_host() const noexcept { return schedule_->device == DeviceId{}; }

  bool has_host_steps_;    ///< Of a method on a device: the host touches memory that the device reads or writes.
  bool has_host_inputs_;   ///< Some input lives on the host.
  bool has_host_outputs_;  ///< Some output lives on the host.
  base::FairGate gate_;    ///< As many at a time as there are lanes.
  std::atomic<std::uint64_t> turns_{0};         ///< Taken so far.
  std::vector<std::unique_ptr<Lane>> lanes_{};  ///< One per instance.
};

}  // namespace tandem::runtime
