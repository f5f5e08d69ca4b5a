#include "bench/suite/goal.h"

#include <fmt/format.h>

#include <vector>

namespace tandem::suite {

std::string Goal::text() const {
  std::vector<std::string> all;
  if (ratio && extra) {
    all.push_back(fmt::format("<= {:g} or +{:g} us", *ratio, *extra));
  } else if (ratio) {
    all.push_back(fmt::format("<= {:g}", *ratio));
  } else if (extra) {
    all.push_back(fmt::format("<= +{:g} us", *extra));
  }
  if (per_part) all.push_back(fmt::format("<= +{:g} ns each", *per_part * 1000));
  if (host) all.push_back(fmt::format("host <= {:g} us", *host));
  if (host_extra) all.push_back(fmt::format("host <= +{:g} us", *host_extra));
  return fmt::format("{}", fmt::join(all, "; "));
}

bool meets(const Goal& goal, const std::optional<Comparison>& comparison, std::optional<double> host, double parts) {
  if (goal.host && !(host && *host <= *goal.host)) return false;
  if (!goal.ratio && !goal.extra && !goal.per_part && !goal.host_extra) return true;
  if (!comparison) return false;
  const bool is_near = goal.extra && comparison->difference.median <= *goal.extra;
  const bool is_fast = goal.ratio && comparison->ratio.median <= *goal.ratio;
  if ((goal.ratio || goal.extra) && !is_near && !is_fast) return false;
  if (goal.per_part && comparison->difference.median > *goal.per_part * parts) return false;
  return !goal.host_extra || (comparison->host_difference && comparison->host_difference->median <= *goal.host_extra);
}

}  // namespace tandem::suite
