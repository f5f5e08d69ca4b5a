#include "runtime/execute/lane.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

/// Events that callers hold on to beyond this many are made anew.
constexpr std::size_t kMaxPooledEvents = 64;

}  // namespace

bool EnqueuedRun::is_under_way() const {
  if (!under_way.load(std::memory_order_acquire)) return false;
  if (!on_device) return true;
  const auto is_done = done.is_done();
  return is_done.ok() && !*is_done;
}

bool EnqueuedRun::work(void* data, std::uint32_t /*index*/) noexcept {
  auto& self = *static_cast<EnqueuedRun*>(data);
  if (self.run.advance(StreamRef{*self.inside}, self.steps_at_once, self.values)) return true;
  if (!self.run.status().ok()) self.done.impl()->set_failure(self.run.status().error());
  self.kept_inputs.clear();
  self.kept_state.reset();
  self.shared.reset();
  // Nothing of `self` may be touched once it counts as over; the dispatcher may own it and go with the last reference.
  const std::shared_ptr<Dispatcher> last = std::move(self.dispatcher);
  self.under_way.store(false, std::memory_order_release);
  return false;
}

Result<std::unique_ptr<Lane>> Lane::create(const Schedule& schedule, device::Device& device,
                                           const MethodOptions& options) {
  TANDEM_TRY(auto instance, Instance::create(schedule, device));
  std::unique_ptr<Lane> lane{new Lane{schedule, device, std::move(instance)}};
  for (std::uint32_t i = 0; i < options.max_in_flight; ++i) {
    lane->runs_.push_back(std::make_unique<EnqueuedRun>(*lane->instance_));
  }
  if (!schedule.regions.empty() && options.graphs != GraphPolicy::Off && options.max_graphs != 0) {
    const bool is_told = std::ranges::any_of(schedule.delegates, &DelegatePlan::prefers_graph);
    lane->graphs_ = std::make_unique<RegionGraphs>(*lane->instance_, device, is_told ? GraphPolicy::On : options.graphs,
                                                   options.max_graphs);
  }
  for (std::uint32_t i = 1; i < schedule.streams.streams; ++i) {
    TANDEM_TRY(auto stream, device.make_stream());
    lane->streams_.push_back(std::move(stream));
  }
  for (std::uint32_t i = 0; i < schedule.streams.events; ++i) {
    TANDEM_TRY(auto event, device.thread_stream().make_event());
    lane->schedule_events_.push_back(std::move(event));
  }
  return lane;
}

Result<Event> Lane::take_event(device::Stream& stream) {
  for (const Event& event : events_) {
    if (!event.impl()->unique()) continue;
    event.impl()->clear_failure();
    return event;
  }
  TANDEM_TRY(Event fresh, stream.make_event());
  if (events_.size() < kMaxPooledEvents) events_.push_back(fresh);
  return fresh;
}

Result<EnqueuedRun*> Lane::take_run(bool wait_if_busy) {
  EnqueuedRun& oldest = *runs_[next_run_];
  if (oldest.is_under_way()) {
    if (!wait_if_busy) {
      return Error{ErrorCode::Busy, "too many executions are enqueued"}
          .with_expected("at most " + std::to_string(runs_.size()), std::to_string(runs_.size() + 1))
          .with_method(std::string{instance_->schedule().method});
    }
    TANDEM_CHECK_OK(oldest.done.impl()->synchronize());
  }
  next_run_ = (next_run_ + 1) % runs_.size();
  return &oldest;
}

}  // namespace tandem::runtime
