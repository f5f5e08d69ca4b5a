#pragma once

#include "device/device.h"
#include "device/timer.h"
#include "runtime/execute/trial.h"

#include <chrono>
#include <memory>
#include <vector>

namespace tandem::runtime {

/// Times runs on trial that nobody waits for. What such a run takes is the longer of two times: that of the call, and
/// that of the device, which is known later; one run at a time is timed until then, and the others do not count.
///
/// Lifetime: the device outlives it.
/// Thread-safety: none; belongs to the execution whose turn it is.
class TrialTimer {
 public:
  explicit TrialTimer(device::Device& device) noexcept : device_{device} {}

  /// Whether the device can. Made when it is first asked for.
  [[nodiscard]] bool is_there();
  /// Before a run: hands over the time of the one before, if it is over; then begins.
  void begin(device::Stream& stream);
  /// After it, with its parts in trials.
  void end(device::Stream& stream, std::vector<TrialRun> trials);

 private:
  using Clock = std::chrono::steady_clock;
  void settle();

  device::Device& device_;
  bool was_asked_ = false;
  std::unique_ptr<device::Timer> timer_{};
  bool is_running_ = false;  ///< begin() was the timer's.
  Clock::time_point begin_{};
  std::chrono::nanoseconds call_{};
  std::vector<TrialRun> pending_{};  ///< Of the run whose time the device does not know yet.
};

}  // namespace tandem::runtime
