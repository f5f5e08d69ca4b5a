#pragma once

#include "runtime/order/byte_history.h"
#include "runtime/order/happens_before.h"

#include <tandem/backend.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tandem::runtime {

/// Bytes [begin, end) of a buffer that an action touches.
struct ByteAccess {
  std::uint64_t buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  AccessMode mode = AccessMode::Read;
};

/// One thing that the host does, in the order in which it does them.
///
/// What the host does takes effect before it goes on, and everything it submits later comes after that; what it
/// submits runs later, in the order of the stream.
/// Lifetime: `accesses` are read while the action is applied only.
/// Source: `cudaEventRecord`, `cudaStreamWaitEvent`, `cudaEventSynchronize`, CUDA Runtime API, Event Management.
struct Action {
  enum class Kind : std::uint8_t {
    Submit,          ///< Work for `stream`.
    Record,          ///< `event` marks the point of `stream` after all that was submitted to it so far.
    Wait,            ///< What follows on `stream` waits for the point that `event` marks now; nothing if it marks none.
    HostStep,        ///< The host touches the bytes itself.
    HostWaitEvent,   ///< The host waits for the point that `event` marks now; nothing if it marks none.
    HostWaitStream,  ///< The host waits for all that was submitted to `stream`.
    Join,            ///< The host waits for all that was submitted.
  };
  Kind kind = Kind::Submit;
  std::uint32_t stream = 0;  ///< Any number but kHostStream.
  std::uint32_t event = 0;
  std::uint32_t label = 0;                 ///< The caller's.
  std::span<const ByteAccess> accesses{};  ///< Submit, HostStep.
};

/// Two accesses of different actions to the same bytes, one of them writing, that nothing orders.
struct Unordered {
  std::uint32_t first = 0;  ///< Labels of the actions, in the order of submission.
  std::uint32_t second = 0;
  std::uint32_t first_access = 0;  ///< Index within the action's accesses.
  std::uint32_t second_access = 0;
  std::uint64_t buffer = 0;
  std::uint64_t begin = 0;  ///< Bytes [begin, end) that both touch.
  std::uint64_t end = 0;
};

/// Checks a history while it grows, of at most 2^32 - 1 actions.
///
/// Exact: conflicts() is empty if and only if of every two conflicting accesses one happens before the other. Of those
/// that are not ordered it has the nearest: an access is held against the last write of its bytes, a write also against
/// the last read of each stream since then.
class HistoryCheck {
 public:
  void apply(const Action& action);

  /// In the order of the second action.
  [[nodiscard]] const std::vector<Unordered>& conflicts() const noexcept { return conflicts_; }
  /// The place of the action that was applied last.
  [[nodiscard]] HappensBefore::Point last() const noexcept { return last_; }
  /// Whether `earlier` happens before what `observer` (a stream, or kHostStream) does from now on.
  [[nodiscard]] bool before(HappensBefore::Point earlier, std::uint32_t observer) const {
    return order_.before(earlier, observer);
  }

 private:
  void touch(const Action& action);
  void join_pieces(std::size_t from);

  HappensBefore order_{};
  std::unordered_map<std::uint64_t, ByteHistory> buffers_{};
  std::vector<Unordered> conflicts_{};
  HappensBefore::Point last_{};
  std::uint32_t count_ = 0;
};

/// All of a recorded history at once.
[[nodiscard]] std::vector<Unordered> find_unordered(std::span<const Action> history);

}  // namespace tandem::runtime
