#include "support/event_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::testing {
namespace {

using runtime::Access;
using runtime::kNone;
using runtime::Schedule;
using runtime::Step;
using runtime::StreamPlan;
using Sync = StreamPlan::Sync;

bool is_write(const Access& access) { return access.mode == AccessMode::Write || access.mode == AccessMode::Update; }

bool conflict(const Schedule& schedule, const Step& a, const Step& b) {
  for (const Access& x : schedule.accesses_of(a)) {
    for (const Access& y : schedule.accesses_of(b)) {
      const bool meet = x.buffer == y.buffer && x.begin < y.end && y.begin < x.end;
      if (meet && (is_write(x) || is_write(y))) return true;
    }
  }
  return false;
}

/// Steps by number, since the last join; earlier ones are over.
using StepSet = std::vector<bool>;

class Planner {
 public:
  explicit Planner(const Schedule& schedule)
      : schedule_{schedule}, steps_{schedule.steps.size()}, waits_(steps_ + 1), joins_(steps_), event_after_(steps_) {
    plan_.streams = 1 + static_cast<std::uint32_t>(schedule.delegates.size());
    plan_.events = 1;  // event 0: the start
    known_on_.assign(plan_.streams, StepSet(steps_));
  }

  StreamPlan run() {
    std::vector<bool> is_target(steps_ + 1);
    for (const Step& step : schedule_.steps) {
      if (step.kind == Step::Kind::JumpFalse) is_target[step.target] = true;
    }
    for (std::uint32_t i = 0; i < steps_; ++i) {
      const Step& step = schedule_.steps[i];
      const bool on_host = step.kind != Step::Kind::Delegate;
      if (on_host || is_target[i]) {
        joins_[i] = i > open_from_;
        open_from_ = on_host ? i + 1 : i;
        known_after_.clear();
      }
      plan_.stream_of.push_back(on_host ? kNone : 1 + step.target);
      if (on_host) continue;
      StepSet& known = known_on_[plan_.stream_of[i]];
      for (std::uint32_t j = i; j-- > open_from_;) {
        if (!known[j] && conflict(schedule_, schedule_.steps[j], step)) wait(i, j, known);
      }
      known[i] = true;
      known_after_.push_back(known);
    }
    StepSet known(steps_);
    for (auto j = static_cast<std::uint32_t>(steps_); j-- > open_from_;) {
      if (!known[j]) wait(static_cast<std::uint32_t>(steps_), j, known);
    }
    assemble();
    return std::move(plan_);
  }

 private:
  /// Makes `step` wait for `earlier`, which a stream runs since the last join.
  void wait(std::uint32_t step, std::uint32_t earlier, StepSet& known) {
    if (event_after_[earlier] == 0) event_after_[earlier] = plan_.events++;
    waits_[step].push_back(event_after_[earlier]);
    const StepSet& more = known_after_[earlier - open_from_];
    for (std::size_t s = 0; s < steps_; ++s) known[s] = known[s] || more[s];
  }

  void assemble() {
    plan_.syncs.push_back({.kind = Sync::Kind::Record, .step = 0, .stream = 0, .event = 0});
    for (std::uint32_t s = 1; s < plan_.streams; ++s) {
      plan_.syncs.push_back({.kind = Sync::Kind::Wait, .step = 0, .stream = s, .event = 0});
    }
    for (std::uint32_t i = 0; i <= steps_; ++i) {
      if (i > 0 && event_after_[i - 1] != 0) {
        plan_.syncs.push_back(
            {.kind = Sync::Kind::Record, .step = i, .stream = plan_.stream_of[i - 1], .event = event_after_[i - 1]});
      }
      if (i < steps_ && joins_[i]) plan_.syncs.push_back({.kind = Sync::Kind::Join, .step = i});
      for (const std::uint32_t event : waits_[i]) {
        plan_.syncs.push_back(
            {.kind = Sync::Kind::Wait, .step = i, .stream = i < steps_ ? plan_.stream_of[i] : 0, .event = event});
      }
    }
  }

  const Schedule& schedule_;
  std::size_t steps_;
  StreamPlan plan_{};
  std::vector<std::vector<std::uint32_t>> waits_;  // by step: events
  std::vector<bool> joins_;
  std::vector<std::uint32_t> event_after_;  // by step; 0: none
  std::vector<StepSet> known_on_{};         // by stream: what comes before its next step
  std::vector<StepSet> known_after_{};      // by step since the last join
  std::uint32_t open_from_ = 0;             // the first step that the host has not joined
};

}  // namespace

StreamPlan event_plan(const Schedule& schedule) { return Planner{schedule}.run(); }

}  // namespace tandem::testing
