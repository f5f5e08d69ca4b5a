#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace tandem::base {

/// Where threads sleep until a condition over atomics holds. Notifying costs one load while nobody sleeps.
///
/// The condition's atomics are written before notify(), and read by the condition, with sequential consistency: then
/// either the sleeper sees the write or the notifier sees the sleeper.
class WaitPoint {
 public:
  /// Looks `spins` times before it sleeps; each look takes some tens of nanoseconds.
  template <class Condition>
  void wait(Condition&& holds, int spins = 200) {
    for (int spin = 0; spin < spins; ++spin) {
      if (holds()) return;
      pause();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, holds);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  void notify() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    { const std::scoped_lock lock{mutex_}; }  // whoever has checked the condition now sleeps
    wake_.notify_all();
  }

 private:
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace tandem::base
