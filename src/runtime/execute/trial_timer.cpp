#include "runtime/execute/trial_timer.h"

#include <algorithm>
#include <utility>

namespace tandem::runtime {

bool TrialTimer::is_there() {
  if (!std::exchange(was_asked_, true)) {
    if (auto made = device_.make_timer(); made.ok()) timer_ = *std::move(made);
  }
  return timer_ != nullptr;
}

void TrialTimer::begin(device::Stream& stream) {
  settle();
  is_running_ = pending_.empty() && timer_->start(stream).ok();
  begin_ = Clock::now();
}

void TrialTimer::end(device::Stream& stream, std::vector<TrialRun> trials) {
  call_ = Clock::now() - begin_;
  if (is_running_ && timer_->stop(stream).ok()) pending_ = std::move(trials);
}

void TrialTimer::settle() {
  if (pending_.empty()) return;
  const auto elapsed = timer_->elapsed();
  if (elapsed.ok() && !*elapsed) return;  // not over yet
  for (const TrialRun& part : std::exchange(pending_, {})) {
    if (elapsed.ok()) part.trial->add(part.way, Trial::Span::Asynchronous, std::max(call_, **elapsed));
  }
}

}  // namespace tandem::runtime
