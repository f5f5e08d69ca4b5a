#include "runtime/order/happens_before.h"

#include <utility>

namespace tandem::runtime {

void HappensBefore::record(std::uint32_t stream, std::uint32_t event, std::uint32_t now) {
  events_[event] = {.stream = stream, .until = now, .known = known_by(stream)};
}

void HappensBefore::wait_for_event(std::uint32_t observer, std::uint32_t event) {
  const auto at = events_.find(event);
  if (at != events_.end()) learn(observer, at->second);
}

void HappensBefore::host_wait_for_stream(std::uint32_t stream, std::uint32_t now) {
  learn(kHostStream, {.stream = stream, .until = now, .known = known_by(stream)});
}

void HappensBefore::join(std::uint32_t now) {
  joined_ = now;
  known_.clear();
}

bool HappensBefore::before(Point earlier, std::uint32_t observer) const {
  // What the host did was over when it submitted anything else.
  return earlier.stream == kHostStream || earlier.stream == observer ||
         knows(observer, earlier.stream, earlier.action + 1);
}

bool HappensBefore::knows(std::uint32_t observer, std::uint32_t stream, std::uint32_t until) const {
  if (until <= joined_) return true;
  const auto is_known_by = [&](std::uint32_t who) {
    const auto clock = known_.find(who);
    return clock != known_.end() && clock->second->until(stream) >= until;
  };
  return is_known_by(observer) || (observer != kHostStream && is_known_by(kHostStream));
}

HappensBefore::Snapshot HappensBefore::known_by(std::uint32_t observer) const {
  const auto clock = known_.find(observer);
  return clock != known_.end() ? clock->second : nullptr;
}

void HappensBefore::learn(std::uint32_t observer, const Mark& mark) {
  // Who knows a point of a stream knows all that the stream knew there.
  if (observer == mark.stream || knows(observer, mark.stream, mark.until)) return;
  Snapshot& own = known_[observer];
  auto clock = own != nullptr ? std::make_shared<StreamClock>(*own) : std::make_shared<StreamClock>();
  if (mark.known != nullptr) clock->merge(*mark.known);
  clock->raise(mark.stream, mark.until);
  own = std::move(clock);
}

}  // namespace tandem::runtime
