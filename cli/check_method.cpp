#include "cli/check_method.h"

#include "runtime/lower/lower.h"

#include <set>
#include <utility>

namespace tandem::cli {
namespace {

PlanCheck check_plan(const runtime::Schedule& schedule, StreamPolicy policy) {
  PlanCheck check{.policy = policy, .plan = runtime::plan_streams(schedule, policy)};
  check.conflicts = runtime::find_conflicts(schedule, check.plan);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const runtime::Conflict& conflict : check.conflicts) pairs.insert({conflict.first, conflict.second});
  check.pairs = pairs.size();
  std::set<std::uint32_t> streams(check.plan.stream_of.begin(), check.plan.stream_of.end());
  streams.erase(runtime::kNone);
  check.streams = streams.size();
  return check;
}

}  // namespace

std::optional<bool> MethodCheck::ordered() const {
  if (order) return order->conflicts.empty();
  if (error && error->code() == ErrorCode::OrderViolation) return false;
  return std::nullopt;
}

MethodCheck check_method(const std::shared_ptr<const Program>& program, const std::string& name, MethodOptions options,
                         StreamPolicy policy, std::vector<std::string> problems) {
  MethodCheck check{.name = name};
  options.allow_races = true;  // what loading would refuse is what this is asked for
  Result<std::shared_ptr<Method>> loaded = Method::load(program, name, options);
  if (!loaded.ok()) {
    check.error = std::move(loaded).error();
    // With this code all was found and prepared; the plan of the program's memory is wrong.
    if (check.error->code() == ErrorCode::OrderViolation) return check;
    check.missing = std::move(problems);
    if (check.missing.empty()) check.missing.push_back(check.error->to_string());
    return check;
  }
  check.method = *std::move(loaded);
  check.order = check_plan(check.method->schedule(), policy);
  check.stream_per_delegate = check_plan(check.method->schedule(), StreamPolicy::PerDelegate);
  return check;
}

}  // namespace tandem::cli
