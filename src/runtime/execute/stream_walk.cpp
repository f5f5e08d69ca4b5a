#include "runtime/execute/stream_walk.h"

#include "base/guarded.h"
#include "runtime/execute/eager.h"

#include <mutex>
#include <utility>

namespace tandem::runtime {
namespace {

class StreamWalk {
 public:
  StreamWalk(Lane& lane, device::Stream& main)
      : lane_{lane},
        main_{main},
        schedule_{lane.instance().schedule()},
        plan_{schedule_.streams},
        on_host_{schedule_.device == DeviceId{}},
        used_sides_(plan_.streams - 1) {}

  Status run(bool& changed_state) {
    keep(walk(changed_state));
    // The streams of a device go on by themselves, and one stream orders what comes after.
    if (on_host_ || plan_.streams > 1) keep(join());
    return std::move(first_failure_);
  }

 private:
  device::Stream& stream(std::uint32_t number) { return number == 0 ? main_ : *lane_.side_streams()[number - 1]; }

  Status walk(bool& changed_state) {
    const auto count = static_cast<std::uint32_t>(schedule_.steps.size());
    std::uint64_t done = 0;
    std::uint32_t next = 0;
    std::size_t sync = 0;
    std::uint32_t region = 0;
    for (; next < count && !failed_; ++done) {
      if (done == kMaxStepsPerRun) return too_many_steps(schedule_, next);
      TANDEM_CHECK_OK(synchronize(sync, next));
      if (lane_.graphs() != nullptr) {
        TANDEM_TRY(const bool as_graph, run_graph(region, next, changed_state));
        if (as_graph) continue;
      }
      changed_state = changed_state || schedule_.steps[next].changes_state;
      if (plan_.stream_of[next] != kNone) {
        mark_used(plan_.stream_of[next]);
        device::Stream& on = stream(plan_.stream_of[next]);
        if (on_host_) {
          TANDEM_CHECK_OK(on.submit(&StreamWalk::work, this, next++));
        } else {
          TANDEM_CHECK_OK(run_step(lane_.instance(), StreamRef{on}, next));
        }
        continue;
      }
      const std::uint32_t at = next;
      TANDEM_CHECK_OK(run_step(lane_.instance(), StreamRef{main_.within_work()}, next));
      if (next == at + 1) continue;
      sync = first_sync(next);
      region = 0;
    }
    return failed_ ? Status{} : synchronize(sync, count);
  }

  /// Runs the region that begins at step `next` as a graph, if there is one. `region`: none before it begins there.
  Result<bool> run_graph(std::uint32_t& region, std::uint32_t& next, bool& changed_state) {
    while (region < schedule_.regions.size() && schedule_.regions[region].first < next) ++region;
    if (region == schedule_.regions.size() || schedule_.regions[region].first != next) return false;
    const Region& plan = schedule_.regions[region];
    changed_state = changed_state || plan.changes_state;
    TANDEM_TRY(const bool as_graph, lane_.graphs()->run(region, main_, lane_.trials()));
    if (!as_graph) return false;
    mark_used(0);
    next = plan.end;
    return true;
  }

  void mark_used(std::uint32_t stream) {
    if (stream == 0) {
      used_main_ = true;
    } else {
      used_sides_[stream - 1] = true;
    }
  }

  std::size_t first_sync(std::uint32_t step) const {
    std::size_t at = 0;
    while (at < plan_.syncs.size() && plan_.syncs[at].step < step) ++at;
    return at;
  }

  /// What the plan wants before `step`.
  Status synchronize(std::size_t& next, std::uint32_t step) {
    for (; next < plan_.syncs.size() && plan_.syncs[next].step <= step; ++next) {
      const StreamPlan::Sync& sync = plan_.syncs[next];
      switch (sync.kind) {
        case StreamPlan::Sync::Kind::Record:
          TANDEM_CHECK_OK(stream(sync.stream).record(*lane_.schedule_events()[sync.event].impl()));
          break;
        case StreamPlan::Sync::Kind::Wait:
          TANDEM_CHECK_OK(stream(sync.stream).wait(*lane_.schedule_events()[sync.event].impl()));
          break;
        case StreamPlan::Sync::Kind::Join:
          TANDEM_CHECK_OK(join());
          break;
      }
    }
    return {};
  }

  Status join() {
    Status joined;
    for (std::uint32_t i = 0; i < plan_.streams; ++i) {
      if (i == 0 ? !used_main_ : !used_sides_[i - 1]) continue;  // the caller may have work of its own there
      if (Status one = stream(i).synchronize(); !one.ok() && joined.ok()) joined = std::move(one);
    }
    return joined;
  }

  static bool work(void* data, std::uint32_t step) noexcept {
    auto& self = *static_cast<StreamWalk*>(data);
    if (self.failed_) return false;
    device::Stream& stream = self.stream(self.plan_.stream_of[step]);
    std::uint32_t next = step;
    self.keep(base::guarded(ErrorCode::Internal,
                            [&] { return run_step(self.lane_.instance(), StreamRef{stream.within_work()}, next); }));
    return false;
  }

  void keep(Status status) {
    if (status.ok()) return;
    const std::scoped_lock lock{mutex_};
    if (first_failure_.ok()) first_failure_ = std::move(status);
    failed_ = true;
  }

  Lane& lane_;
  device::Stream& main_;
  const Schedule& schedule_;
  const StreamPlan& plan_;
  bool on_host_;            ///< The host device, whose streams run steps themselves.
  bool used_main_ = false;  ///< Whether any step went there.
  std::vector<bool> used_sides_;
  std::mutex mutex_;
  Status first_failure_{};
  std::atomic<bool> failed_{false};
};

}  // namespace

Status walk_streams(Lane& lane, device::Stream& main, bool& changed_state) {
  return StreamWalk{lane, main}.run(changed_state);
}

}  // namespace tandem::runtime
