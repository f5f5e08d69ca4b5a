#pragma once

#include "device/device.h"
#include "runtime/bind/delegate_calls.h"
#include "runtime/schedule.h"
#include "runtime/state_memory.h"
#include "runtime/state_store.h"

#include <tandem/result.h>
#include <tandem/shared_buffers.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::runtime {

/// Ends every message about buffers of which nothing says whether they are one.
inline constexpr std::string_view kHowToDecide =
    "Decide with MethodOptions::shared_buffers (all, none, or names; --share-buffers on the command line, "
    "\"shared_buffers\" in meta.json)";

/// Everything of one method that outlives an execution: its mutable values, in the order of Schedule::states, the
/// mutable buffers of its delegates, and the contexts of delegates that keep state.
///
/// Lifetime: shares the schedule; the device outlives it.
/// Thread-safety: reset(), is_indeterminate() and the checks from any thread; the rest belongs to the execution whose
///   turn it is.
class State {
 public:
  /// Whether a method has any. Without, it needs no State.
  [[nodiscard]] static bool is_needed(const Schedule& schedule) noexcept;
  /// `store` provides what methods share. A null `store` gives everything its own memory.
  /// Errors: as StateStore::obtain(); what Delegate::new_context_on() says.
  [[nodiscard]] static Result<std::shared_ptr<State>> create(std::shared_ptr<const Schedule> schedule,
                                                             device::Device& device,
                                                             const std::shared_ptr<StateStore>& store,
                                                             const SharedBuffers& rule = {});

  [[nodiscard]] const Schedule& schedule() const noexcept { return *schedule_; }
  [[nodiscard]] std::span<const std::shared_ptr<StateMemory>> memory() const noexcept { return memory_; }
  /// Memory of a delegate, one entry for each of its buffers.
  [[nodiscard]] std::span<const std::shared_ptr<StateMemory>> memory_of(std::uint32_t delegate) const noexcept {
    return delegate_memory_[delegate];
  }
  [[nodiscard]] DelegateCalls& calls() noexcept { return calls_; }
  [[nodiscard]] StateOrder& order() noexcept { return *order_; }

  /// Back to the initial bytes. Blocks until executions that use it are over.
  /// Errors: OutOfMemory; what Delegate::new_context() says; InvalidState, called by work on a stream.
  [[nodiscard]] Status reset();
  [[nodiscard]] bool is_indeterminate() const noexcept { return indeterminate_ || order_->indeterminate; }
  /// A number that no other state has or had, nor this one before a reset that made new contexts: delegates' memory of
  /// another generation is gone.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  void mark_indeterminate() noexcept;
  /// Name of a buffer that the method has in common with another one by a rule, so that it cannot be in two states;
  /// empty: none.
  [[nodiscard]] const std::string& shared_buffer() const noexcept { return shared_buffer_; }

  /// An execution is enqueued, by whoever holds the turn.
  void note_execution() noexcept { executions_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t executions() const noexcept { return executions_.load(std::memory_order_relaxed); }

  /// Tells whether other methods may have a buffer that is one with a buffer of this state.
  [[nodiscard]] bool may_be_linked() const noexcept;
  /// Tells whether executions have to be checked against changes that they would miss.
  [[nodiscard]] bool is_linked() const noexcept { return is_linked_.load(std::memory_order_acquire); }
  /// Before an execution that is linked: no other method has changed a buffer that may be one with a buffer of this
  /// state. Blocks until earlier executions of the other method are over. `may_block`: the calling thread holds no
  /// turn. Errors: InvalidState, naming both buffers and how to decide.
  [[nodiscard]] Status check_others(bool may_block);

  /// Links buffers of states of two methods that are not one memory, though they may be one buffer. Returns the names
  /// of those of which nothing says it.
  static std::vector<std::string> link(const std::shared_ptr<State>& a, const std::shared_ptr<State>& b);

 private:
  /// A buffer of another state that may be one with a buffer of this one.
  struct Link {
    std::weak_ptr<State> other{};
    std::size_t mine = 0;  ///< Into held_.
    std::size_t theirs = 0;
    std::uint64_t verified = 0;  ///< Executions of the other state after which it had its initial contents.
  };

  State(std::shared_ptr<const Schedule> schedule, device::Device& device) noexcept
      : schedule_{std::move(schedule)}, device_{device} {}
  static std::uint64_t next_generation() noexcept;
  Status obtain_values(StateStore* store, const SharedBuffers& rule);
  Status obtain_buffers(StateStore* store, const SharedBuffers& rule);
  Status hold(StateStore* store, StateMemory::Home home, std::size_t bytes, std::span<const std::byte> initial,
              HeldBuffer buffer);
  [[nodiscard]] Error missed(const HeldBuffer& mine, const HeldBuffer& changed) const;

  std::shared_ptr<const Schedule> schedule_;
  device::Device& device_;
  std::vector<std::shared_ptr<StateMemory>> memory_{};
  std::vector<std::vector<std::shared_ptr<StateMemory>>> delegate_memory_{};  ///< By delegate, then buffer.
  std::vector<HeldBuffer> held_{};                                            ///< All of both.
  std::string shared_buffer_{};
  std::shared_ptr<StateOrder> order_ = std::make_shared<StateOrder>();
  std::shared_ptr<StateStore> store_{};
  DelegateCalls calls_{};
  bool renews_contexts_ = false;  ///< Some delegate keeps state that is not in its buffers.
  std::uint64_t generation_ = next_generation();
  std::atomic<std::uint64_t> executions_{0};
  std::atomic<bool> indeterminate_{false};
  std::atomic<bool> is_linked_{false};
  std::mutex mutex_;  ///< Guards `links_`.
  std::vector<Link> links_{};
};

}  // namespace tandem::runtime
