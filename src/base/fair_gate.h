#pragma once

#include "base/wait_point.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace tandem::base {

/// Lets up to `permits` threads in at a time, first come, first served: an unfair lock starves threads of a pool for
/// milliseconds. No system call while there is room.
class FairGate {
 public:
  explicit FairGate(std::uint32_t permits = 1) noexcept : permits_{permits} {}
  FairGate(const FairGate&) = delete;
  FairGate& operator=(const FairGate&) = delete;

  /// Blocks until there is room and everybody who came before was let in.
  void enter() {
    const std::uint64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
    if (may_enter(ticket)) return;
    // Sleeping threads take long to wake: the one whose turn is next wakes early and looks out for it.
    WaitPoint& slot = slots_[ticket % slots_.size()];
    slot.wait([this, ticket] { return ticket < left() + permits_ + 1; });
    slot.wait([this, ticket] { return may_enter(ticket); }, kSpinsOfTheNext);
  }

  [[nodiscard]] bool try_enter() noexcept {
    std::uint64_t ticket = next_.load(std::memory_order_relaxed);
    return may_enter(ticket) &&
           next_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void leave() noexcept {
    const std::uint64_t next = left_.fetch_add(1, std::memory_order_seq_cst) + permits_;
    slots_[next % slots_.size()].notify();
    slots_[(next + 1) % slots_.size()].notify();
  }

  /// How many have come so far, let in or not. For tests.
  [[nodiscard]] std::uint64_t tickets_out() const noexcept { return next_.load(std::memory_order_relaxed); }

 private:
  /// Some hundred microseconds.
  static constexpr int kSpinsOfTheNext = 3000;

  [[nodiscard]] std::uint64_t left() const noexcept { return left_.load(std::memory_order_seq_cst); }
  [[nodiscard]] bool may_enter(std::uint64_t ticket) const noexcept { return ticket < left() + permits_; }

  const std::uint64_t permits_;
  std::atomic<std::uint64_t> next_{0};  ///< Tickets given out.
  std::atomic<std::uint64_t> left_{0};  ///< How many have left.
  /// A leaver wakes the one whose turn it is, not everybody; tickets share a slot only beyond this many waiters.
  std::array<WaitPoint, 16> slots_{};
};

/// Holds a FairGate for a scope.
class FairLock {
 public:
  explicit FairLock(FairGate& gate) : gate_{&gate} { gate.enter(); }
  FairLock(const FairLock&) = delete;
  FairLock& operator=(const FairLock&) = delete;
  ~FairLock() { gate_->leave(); }

 private:
  FairGate* gate_;
};

}  // namespace tandem::base
