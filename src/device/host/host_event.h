#pragma once

#include "device/event.h"
#include "device/host/timeline.h"

#include <cstdint>
#include <memory>

namespace tandem::device {

/// A point on a stream's timeline.
class HostEvent final : public Event {
 public:
  HostEvent() noexcept : Event{DeviceId{}} {}

  /// A null timeline: the point has passed.
  void mark(const std::shared_ptr<Timeline>& timeline, std::uint64_t point) {
    if (timeline_ != timeline) timeline_ = timeline;
    point_ = point;
  }
  [[nodiscard]] bool has_passed() const noexcept { return timeline_ == nullptr || timeline_->has_passed(point_); }
  [[nodiscard]] const std::shared_ptr<Timeline>& timeline() const noexcept { return timeline_; }
  [[nodiscard]] std::uint64_t point() const noexcept { return point_; }

  [[nodiscard]] Result<bool> is_done() const override;
  [[nodiscard]] Status synchronize() const override;
  void hold() override;
  void signal() noexcept override;

 private:
  std::shared_ptr<Timeline> timeline_{};
  std::uint64_t point_ = 0;
};

}  // namespace tandem::device
