#pragma once

#include "runtime/schedule.h"

#include <tandem/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::runtime {

/// Two steps that touch the same bytes, one of them writing, with nothing that makes one happen before the other.
struct Conflict {
  std::uint32_t first = 0;              ///< Step, before `second` in program order.
  std::uint32_t second = 0;             ///< Step; the number of steps stands for what follows the method.
  std::uint32_t first_access = 0;       ///< Into Schedule::accesses.
  std::uint32_t second_access = kNone;  ///< The same; kNone where `second` is no step.
  std::uint32_t buffer = 0;
  std::uint64_t begin = 0;  ///< Bytes [begin, end) of the buffer that both touch.
  std::uint64_t end = 0;
};

/// Every conflicting pair of accesses that `plan` leaves unordered, nearest pairs only: an access is held against the
/// last write of its bytes, a write also against the last read of each stream since. Empty means that all pairs are
/// ordered. In the order of the second step.
///
/// Ordered means: through the order of one stream, events recorded and waited for, joins, and the host, whose steps
/// (kNone) are over before anything else is submitted.
///
/// That is exact within a straight-line stretch (find_blocks()). Across stretches the rule is stricter, so that it need
/// not follow paths. Where a stretch ends, all that it submitted is over for the host (a join in front of the next
/// stretch counts); or, in a plan without host steps, it comes before what follows on stream 0, and each step of the
/// next stretch after what came before on stream 0. Where that fails, conflicting steps of different stretches count
/// as unordered. At the end of the method its steps come before what follows on the host or on stream 0.
[[nodiscard]] std::vector<Conflict> find_conflicts(const Schedule& schedule, const StreamPlan& plan);

/// The first conflict of the schedule's own plan as an error.
/// Errors: OrderViolation, with both steps, the value, the bytes, the streams and the missing edge.
[[nodiscard]] Status check_order(const Schedule& schedule);

/// "instruction 3 (delegate 1, X) on stream 2 writes value 7, bytes [0, 64) of arena 1; ..." for people.
[[nodiscard]] std::string describe(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict);

}  // namespace tandem::runtime
