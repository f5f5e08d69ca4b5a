#pragma once

#include "runtime/order/stream_clock.h"

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace tandem::runtime {

/// The thread that submits work, where a stream is asked for.
inline constexpr std::uint32_t kHostStream = UINT32_MAX;

/// What has surely happened before what: vector clocks over numbered actions, fed in the order of submission.
///
/// Clocks are shared and never changed; only a wait that brings news makes a new one, so streams without events cost
/// nothing. What the host knows holds for everything submitted later, whatever the stream.
class HappensBefore {
 public:
  /// One submitted action.
  struct Point {
    std::uint32_t stream = kHostStream;
    std::uint32_t action = 0;
  };

  /// `now` is the number of the action that records, waits or joins.
  void record(std::uint32_t stream, std::uint32_t event, std::uint32_t now);
  /// `observer` is a stream, or kHostStream. An event that was never recorded orders nothing.
  void wait_for_event(std::uint32_t observer, std::uint32_t event);
  void host_wait_for_stream(std::uint32_t stream, std::uint32_t now);
  void join(std::uint32_t now);

  /// Whether `earlier` happens before what `observer` does from now on.
  [[nodiscard]] bool before(Point earlier, std::uint32_t observer) const;

 private:
  using Snapshot = std::shared_ptr<const StreamClock>;
  struct Mark {
    std::uint32_t stream = kHostStream;
    std::uint32_t until = 0;
    Snapshot known{};
  };

  [[nodiscard]] bool knows(std::uint32_t observer, std::uint32_t stream, std::uint32_t until) const;
  [[nodiscard]] Snapshot known_by(std::uint32_t observer) const;
  void learn(std::uint32_t observer, const Mark& mark);

  std::unordered_map<std::uint32_t, Snapshot>
      known_{};                                       // by stream and kHostStream; of those that waited since joined_
  std::unordered_map<std::uint32_t, Mark> events_{};  // the last record of each
  std::uint32_t joined_ = 0;                          // all actions with smaller numbers are over
};

}  // namespace tandem::runtime
