#pragma once

#include "device/device.h"
#include "device/uses.h"
#include "runtime/bind/instance.h"
#include "runtime/execute/outputs.h"
#include "runtime/execute/region_graphs.h"
#include "runtime/execute/run.h"
#include "runtime/execute/trial.h"
#include "runtime/execute/trial_timer.h"

#include <tandem/event.h>
#include <tandem/method.h>
#include <tandem/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem {

/// What the handles of one execution share with it.
struct Execution::Shared {
  Event done{};
  std::vector<Value> early{};   ///< What is known at once.
  std::vector<Value> values{};  ///< Written before `done` passes.
};

namespace runtime {

class Dispatcher;

/// One execution that is enqueued, and what it keeps alive.
class EnqueuedRun {
 public:
  explicit EnqueuedRun(Instance& instance) : run{instance} {}

  /// What streams call. `data` is an EnqueuedRun.
  static bool work(void* data, std::uint32_t index) noexcept;
  /// From enqueueing until it is over. Asks the driver where the device does not tell by itself.
  [[nodiscard]] bool is_under_way() const;

  Run run;
  Event done{};
  std::span<Value> values{};
  device::Stream* inside = nullptr;  ///< For what steps enqueue themselves.
  std::uint64_t steps_at_once = 0;
  std::vector<Value> kept_inputs{};
  std::shared_ptr<State> kept_state{};
  std::shared_ptr<Execution::Shared> shared{};
  std::shared_ptr<Dispatcher> dispatcher{};
  std::atomic<bool> under_way{false};
  bool on_device = false;  ///< Enqueued step by step: nobody but `done` tells that it is over.
};

/// An instance, and what executions on it need besides.
///
/// Thread-safety: one thread at a time, that which took it; the members that say so from any thread.
class Lane {
 public:
  /// Errors: OutOfMemory; what Delegate::new_context() says.
  [[nodiscard]] static Result<std::unique_ptr<Lane>> create(const Schedule& schedule, device::Device& device,
                                                            const MethodOptions& options);

  /// Holds what a run touches while it is enqueued: the run lets go of it when it is over, which may be before the
  /// uses are noted.
  class InHand {
   public:
    InHand(Lane& lane, const Run& run) : lane_{lane} {
      lane.read_.assign(run.inputs().begin(), run.inputs().end());
      lane.written_.assign(run.written().begin(), run.written().end());
    }
    InHand(const InHand&) = delete;
    InHand& operator=(const InHand&) = delete;
    ~InHand() {
      lane_.read_.clear();
      lane_.written_.clear();
    }
    [[nodiscard]] std::span<const Value> read() const noexcept { return lane_.read_; }
    [[nodiscard]] std::span<const Tensor> written() const noexcept { return lane_.written_; }

   private:
    Lane& lane_;
  };

  /// An event that nobody refers to any more, or a new one. Errors: OutOfMemory.
  [[nodiscard]] Result<Event> take_event(device::Stream& stream);
  /// A run that is over; waits for the oldest one if need be. Errors: Busy, if it may not; InvalidState.
  [[nodiscard]] Result<EnqueuedRun*> take_run(bool wait_if_busy);

  Instance& instance() noexcept { return *instance_; }
  OutputPool& outputs() noexcept { return outputs_; }
  /// Of the instance's memory. Any thread.
  device::Uses& uses() noexcept { return uses_; }
  /// For runs that are over, or enqueued, when the call returns.
  Run& inline_run() noexcept { return inline_run_; }
  /// Null if the schedule has nothing for graphs, or the method was loaded without.
  [[nodiscard]] RegionGraphs* graphs() noexcept { return graphs_.get(); }
  /// The run at hand's parts in trials of graphs.
  [[nodiscard]] std::vector<TrialRun>& trials() noexcept { return trials_; }
  [[nodiscard]] TrialTimer& trial_timer() noexcept { return trial_timer_; }
  /// Streams of the schedule beside the execution's own, by number - 1, and its events.
  [[nodiscard]] const std::vector<std::unique_ptr<device::Stream>>& side_streams() const noexcept { return streams_; }
  [[nodiscard]] const std::vector<Event>& schedule_events() const noexcept { return schedule_events_; }

  /// Any thread: whether the caller has it now.
  [[nodiscard]] bool try_take() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  [[nodiscard]] bool is_taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }
  void note_turn(std::uint64_t stream, std::uint64_t turn) noexcept {
    last_stream_.store(stream, std::memory_order_relaxed);
    last_turn_.store(turn, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t last_stream() const noexcept { return last_stream_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t last_turn() const noexcept { return last_turn_.load(std::memory_order_relaxed); }

 private:
  Lane(const Schedule& schedule, device::Device& device, std::unique_ptr<Instance> instance)
      : instance_{std::move(instance)}, trial_timer_{device}, outputs_{schedule, device}, inline_run_{*instance_} {}

  std::unique_ptr<Instance> instance_;
  std::unique_ptr<RegionGraphs> graphs_{};
  std::vector<TrialRun> trials_{};
  TrialTimer trial_timer_;
  OutputPool outputs_;
  device::Uses uses_{};
  Run inline_run_;
  std::vector<std::unique_ptr<EnqueuedRun>> runs_{};  ///< Used in turn, so the next one is the oldest.
  std::size_t next_run_ = 0;
  std::vector<Value> read_{};  ///< InHand's; kept for their memory.
  std::vector<Tensor> written_{};
  std::vector<Event> events_{};
  std::vector<Event> schedule_events_{};
  std::atomic<bool> taken_{false};
  std::atomic<std::uint64_t> last_stream_{0};
  std::atomic<std::uint64_t> last_turn_{0};
  std::vector<std::unique_ptr<device::Stream>> streams_{};  ///< Last: their work is over before the rest goes.
};

}  // namespace runtime
}  // namespace tandem
