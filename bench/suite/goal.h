#pragma once

#include "bench/suite/statistics.h"

#include <optional>
#include <string>

namespace tandem::suite {

/// What was set for one way of a case. A missed goal is reported and fails nothing: times belong to a machine.
///
/// Units: microseconds.
struct Goal {
  std::optional<double> ratio{};       ///< Time, of the other way's.
  std::optional<double> extra{};       ///< Time beyond the other way's; with `ratio`: one of the two is enough.
  std::optional<double> per_part{};    ///< Time beyond the other way's, for each part (a delegate, for example).
  std::optional<double> host{};        ///< Host time.
  std::optional<double> host_extra{};  ///< Host time beyond the other way's.

  [[nodiscard]] bool is_set() const { return ratio || extra || per_part || host || host_extra; }
  /// "<= 1.03 or +1 us; host <= 4 us".
  [[nodiscard]] std::string text() const;
};

/// How one way compares with another, by blocks.
struct Comparison {
  std::string against{};
  Spread ratio{};
  Spread difference{};
  std::optional<Spread> host_difference{};
};

/// Whether what was measured meets the goal. What a goal needs and nobody measured is not met.
/// `host`: the median host time; `parts`: how many a call has.
[[nodiscard]] bool meets(const Goal& goal, const std::optional<Comparison>& comparison, std::optional<double> host,
                         double parts);

}  // namespace tandem::suite
