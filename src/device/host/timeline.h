#pragma once

#include <tandem/result.h>

#include <atomic>
#include <cstdint>

namespace tandem::device {

/// How far the work of one host stream has come. Points count the pieces of work: point n has passed when n are done.
///
/// Thread-safety: any thread.
class Timeline {
 public:
  Timeline() = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  [[nodiscard]] bool has_passed(std::uint64_t point) const noexcept {
    return done_.load(std::memory_order_seq_cst) >= point;
  }
  /// Blocks until the point has passed. Errors: InvalidState, it never can.
  [[nodiscard]] virtual Status wait_for(std::uint64_t point) = 0;
  /// Called by whoever polls: streams without a thread of their own run some work.
  virtual void poll() {}

 protected:
  std::atomic<std::uint64_t> done_{0};
};

/// The calling thread runs a piece of a stream's work while this lives. Such work must not wait: what it waits for may
/// lie behind it.
class WorkScope {
 public:
  WorkScope() noexcept { ++depth; }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  ~WorkScope() { --depth; }
  /// Errors: InvalidState, the calling thread runs a stream's work.
  [[nodiscard]] static Status may_wait();

 private:
  static thread_local int depth;
};

}  // namespace tandem::device
