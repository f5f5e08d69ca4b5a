#include "runtime/order/happens_before.h"

#include <algorithm>
#include <utility>

namespace tandem::runtime {

auto HappensBefore::find(auto& clock, std::uint32_t stream) {
  return std::lower_bound(clock.begin(), clock.end(), stream,
                          [](const Entry& entry, std::uint32_t wanted) { return entry.stream < wanted; });
}

std::uint32_t HappensBefore::until_in(const Clock& clock, std::uint32_t stream) {
  const auto at = find(clock, stream);
  return at != clock.end() && at->stream == stream ? at->until : 0;
}

HappensBefore::Clock HappensBefore::merge(const Clock& a, const Clock& b) {
  Clock merged;
  merged.reserve(a.size() + b.size() + 1);
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->stream == y->stream) {
      merged.push_back({x->stream, std::max(x->until, y->until)});
      ++x;
      ++y;
    } else {
      merged.push_back(x->stream < y->stream ? *x++ : *y++);
    }
  }
  merged.insert(merged.end(), x, a.end());
  merged.insert(merged.end(), y, b.end());
  return merged;
}

void HappensBefore::record(std::uint32_t stream, std::uint32_t event, std::uint32_t now) {
  events_[event] = {.stream = stream, .until = now, .known = known_by(stream)};
}

void HappensBefore::wait_for_event(std::uint32_t observer, std::uint32_t event, std::uint32_t now) {
  const auto at = events_.find(event);
  if (at != events_.end()) learn(observer, at->second, now);
}

void HappensBefore::host_wait_for_stream(std::uint32_t stream, std::uint32_t now) {
  learn(kHostStream, {.stream = stream, .until = now, .known = known_by(stream)}, now);
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
  const auto is_in_clock_of = [&](std::uint32_t who) {
    const auto known = known_.find(who);
    return known != known_.end() && until_in(*known->second.clock, stream) >= until;
  };
  return is_in_clock_of(observer) || (observer != kHostStream && is_in_clock_of(kHostStream));
}

HappensBefore::Snapshot HappensBefore::known_by(std::uint32_t observer) const {
  const auto known = known_.find(observer);
  return known != known_.end() ? known->second.clock : nullptr;
}

void HappensBefore::learn(std::uint32_t observer, const Mark& mark, std::uint32_t now) {
  // Who knows a point of a stream knows all that the stream knew there.
  if (observer == mark.stream || knows(observer, mark.stream, mark.until)) return;
  static const Clock kNothing;
  Knowledge& own = known_[observer];
  const Clock& theirs = mark.known != nullptr ? *mark.known : kNothing;
  // Where streams take turns, the mark mostly knows the observer after its last news, and so all that it knows.
  const bool adds = own.clock != nullptr && until_in(theirs, observer) <= own.since;
  auto clock = std::make_shared<Clock>(merge(adds ? *own.clock : kNothing, theirs));
  const auto at = find(*clock, mark.stream);
  if (at != clock->end() && at->stream == mark.stream) {
    at->until = std::max(at->until, mark.until);
  } else {
    clock->insert(at, {mark.stream, mark.until});
  }
  own = {.clock = std::move(clock), .since = now};
}

}  // namespace tandem::runtime
