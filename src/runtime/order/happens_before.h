#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tandem::runtime {

/// The thread that submits work, where a stream is asked for.
inline constexpr std::uint32_t kHostStream = UINT32_MAX;

/// What has surely happened before what: vector clocks over numbered actions, fed in the order of submission.
///
/// What a stream knows is a sorted list of (other stream, number): "all that was submitted there before that number".
/// Lists are shared and never changed; only a wait that brings news makes a new one, so streams without events cost
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
  void wait_for_event(std::uint32_t observer, std::uint32_t event, std::uint32_t now);
  void host_wait_for_stream(std::uint32_t stream, std::uint32_t now);
  void join(std::uint32_t now);

  /// Whether `earlier` happens before what `observer` does from now on.
  [[nodiscard]] bool before(Point earlier, std::uint32_t observer) const;

 private:
  struct Entry {
    std::uint32_t stream;
    std::uint32_t until;  ///< Actions with smaller numbers are known.
  };
  using Clock = std::vector<Entry>;  // by stream, ascending
  using Snapshot = std::shared_ptr<const Clock>;
  struct Knowledge {
    Snapshot clock{};
    std::uint32_t since = 0;  ///< The action that brought the last news.
  };
  struct Mark {
    std::uint32_t stream = kHostStream;
    std::uint32_t until = 0;
    Snapshot known{};
  };

  [[nodiscard]] static auto find(auto& clock, std::uint32_t stream);
  [[nodiscard]] static std::uint32_t until_in(const Clock& clock, std::uint32_t stream);  ///< 0: not in it.
  [[nodiscard]] static Clock merge(const Clock& a, const Clock& b);
  [[nodiscard]] bool knows(std::uint32_t observer, std::uint32_t stream, std::uint32_t until) const;
  [[nodiscard]] Snapshot known_by(std::uint32_t observer) const;
  void learn(std::uint32_t observer, const Mark& mark, std::uint32_t now);

  std::unordered_map<std::uint32_t, Knowledge>
      known_{};                                       // by stream and kHostStream; of those that waited since joined_
  std::unordered_map<std::uint32_t, Mark> events_{};  // the last record of each
  std::uint32_t joined_ = 0;                          // all actions with smaller numbers are over
};

}  // namespace tandem::runtime
