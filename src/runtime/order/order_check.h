#pragma once

#include "runtime/schedule.h"

#include <tandem/result.h>

#include <cstdint>
#include <vector>

namespace tandem::runtime {

/// Two steps of one straight-line stretch that touch the same bytes, one of them writing, with nothing that makes the
/// first happen before the second.
struct Conflict {
  std::uint32_t first = 0;  ///< Step, in program order before `second`.
  std::uint32_t second = 0;
  std::uint32_t first_access = 0;  ///< Into Schedule::accesses.
  std::uint32_t second_access = 0;
  std::uint32_t buffer = 0;
  std::uint64_t begin = 0;  ///< Bytes [begin, end) of the buffer that both touch.
  std::uint64_t end = 0;
};

/// Every conflicting pair of accesses that `plan` leaves unordered, nearest pairs only: of the accesses that meet an
/// unordered write, the last write and the reads since it. Empty means that all pairs are ordered.
///
/// Ordered means: through the order of one stream, events recorded and waited for, and joins of the host; jumps and
/// jump targets join everything.
[[nodiscard]] std::vector<Conflict> find_conflicts(const Schedule& schedule, const StreamPlan& plan);

/// The first conflict of the schedule's own plan as an error.
/// Errors: OrderViolation, with both steps, the value, the bytes, the streams and the missing edge.
[[nodiscard]] Status check_order(const Schedule& schedule);

/// "instruction 3 (delegate 1, X) on stream 2 writes value 7, bytes [0, 64) of arena 1; ..." for people.
[[nodiscard]] std::string describe(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict);

}  // namespace tandem::runtime
