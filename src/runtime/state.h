#pragma once

#include "base/fair_gate.h"
#include "device/device.h"
#include "device/uses.h"
#include "runtime/bind/delegate_calls.h"
#include "runtime/schedule.h"

#include <tandem/result.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tandem::runtime {

/// What orders the executions that use the same mutable memory.
struct StateOrder {
  base::FairGate gate{};  ///< Held while an execution is enqueued.
  device::Uses uses{};
  std::atomic<bool> indeterminate{false};  ///< An execution failed after it may have changed the memory.
};

/// One mutable value.
struct StateMemory {
  device::Buffer buffer{};
  bool on_device = false;  ///< Of a method that is not on the host device; else it is host memory.
};

/// Mutable values that several methods share, by their place in the shared arena.
///
/// Thread-safety: obtain() from any thread; the memory is guarded by order().
class StateStore {
 public:
  /// The memory at `offset`; made and initialised by the first who asks.
  /// Errors: OutOfMemory; InvalidProgram, another method plans another size there.
  [[nodiscard]] Result<std::shared_ptr<StateMemory>> obtain(device::Device& device, std::uint64_t offset,
                                                            std::uint64_t bytes, std::span<const std::byte> initial);
  [[nodiscard]] const std::shared_ptr<StateOrder>& order() const noexcept { return order_; }

 private:
  std::mutex mutex_;
  std::shared_ptr<StateOrder> order_ = std::make_shared<StateOrder>();
  std::map<std::uint64_t, std::shared_ptr<StateMemory>> by_offset_;
};

/// Everything of one method that outlives an execution: its mutable values, in the order of Schedule::states, and the
/// contexts of delegates that keep state.
///
/// Lifetime: shares the schedule; the device outlives it.
/// Thread-safety: reset() and is_indeterminate() from any thread; the rest belongs to the execution whose turn it is.
class State {
 public:
  /// Whether a method has any. Without, it needs no State.
  [[nodiscard]] static bool is_needed(const Schedule& schedule) noexcept;
  /// `store`, if there is one, provides what methods share.
  /// Errors: as StateStore::obtain(); what Delegate::new_context() says.
  [[nodiscard]] static Result<std::shared_ptr<State>> create(std::shared_ptr<const Schedule> schedule,
                                                             device::Device& device,
                                                             const std::shared_ptr<StateStore>& store);

  [[nodiscard]] const Schedule& schedule() const noexcept { return *schedule_; }
  [[nodiscard]] std::span<const std::shared_ptr<StateMemory>> memory() const noexcept { return memory_; }
  [[nodiscard]] DelegateCalls& calls() noexcept { return calls_; }
  [[nodiscard]] StateOrder& order() noexcept { return *order_; }

  /// Back to the initial bytes. Blocks until executions that use it are over.
  /// Errors: OutOfMemory; what Delegate::new_context() says; InvalidState, called by work on a stream.
  [[nodiscard]] Status reset();
  [[nodiscard]] bool is_indeterminate() const noexcept { return indeterminate_ || order_->indeterminate; }
  /// A number that no other state has or had, nor this one before a reset: delegates' memory of another generation is
  /// gone.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  void mark_indeterminate() noexcept;

 private:
  State(std::shared_ptr<const Schedule> schedule, device::Device& device) noexcept
      : schedule_{std::move(schedule)}, device_{device} {}
  static std::uint64_t next_generation() noexcept;

  std::shared_ptr<const Schedule> schedule_;
  device::Device& device_;
  std::vector<std::shared_ptr<StateMemory>> memory_{};
  std::shared_ptr<StateOrder> order_ = std::make_shared<StateOrder>();
  DelegateCalls calls_{};
  std::uint64_t generation_ = next_generation();
  std::atomic<bool> indeterminate_{false};
};

}  // namespace tandem::runtime
