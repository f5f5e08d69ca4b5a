#include "device/host/host_event.h"

#include "base/wait_point.h"

namespace tandem::device {
namespace {

/// Passes its one point when it is told to.
class Signal final : public Timeline {
 public:
  Status wait_for(std::uint64_t point) override {
    if (has_passed(point)) return {};
    TANDEM_CHECK_OK(WorkScope::may_wait());
    passed_.wait([this, point] { return has_passed(point); });
    return {};
  }
  void pass() noexcept {
    done_.store(1, std::memory_order_seq_cst);
    passed_.notify();
  }

 private:
  base::WaitPoint passed_;
};

}  // namespace

Result<bool> HostEvent::is_done() const {
  if (has_passed()) return true;
  timeline_->poll();
  return has_passed();
}

Status HostEvent::synchronize() const { return timeline_ == nullptr ? Status{} : timeline_->wait_for(point_); }

void HostEvent::hold() { mark(std::make_shared<Signal>(), 1); }

void HostEvent::signal() noexcept { static_cast<Signal&>(*timeline_).pass(); }

}  // namespace tandem::device
