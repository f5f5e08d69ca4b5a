#include "cli/check_report.h"

#include "cli/text.h"
#include "runtime/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tandem::cli {
namespace {

using runtime::Conflict;
using runtime::Schedule;

constexpr std::size_t kShownConflicts = 3;

std::string conflict_lines(const Schedule& schedule, const PlanCheck& check) {
  std::string out;
  for (std::size_t i = 0; i < std::min(check.conflicts.size(), kShownConflicts); ++i) {
    out += fmt::format("    {}\n", printable(runtime::describe(schedule, check.plan, check.conflicts[i])));
  }
  if (check.conflicts.size() > kShownConflicts) {
    out += fmt::format("    ... {} more, --json lists all\n", check.conflicts.size() - kShownConflicts);
  }
  return out;
}

std::string conflicts_text(const PlanCheck& check) {
  return fmt::format("{} in {} of steps", count_text(check.conflicts.size(), "conflict"),
                     count_text(check.pairs, "pair"));
}

std::string plan_text(const Schedule& schedule, const PlanCheck& check) {
  return fmt::format("{} on {} ({})", count_text(schedule.steps.size(), "step"), count_text(check.streams, "stream"),
                     name_of(check.policy));
}

std::string order_text(const MethodCheck& check) {
  if (!check.order) {
    if (check.ordered() == false) return fmt::format("  ordered   NO   {}\n", printable(check.error->to_string()));
    return "  ordered   not checked: needs the delegates\n";
  }
  const Schedule& schedule = check.method->schedule();
  const PlanCheck& order = *check.order;
  if (schedule.steps.empty()) return "  ordered   yes  no steps\n";
  if (order.conflicts.empty()) {
    std::string out = fmt::format("  ordered   yes  {}\n", plan_text(schedule, order));
    if (order.policy == StreamPolicy::PerDelegate) return out;
    const PlanCheck& what_if = *check.stream_per_delegate;
    out += fmt::format("  with a stream per delegate: {}\n",
                       what_if.conflicts.empty() ? "no conflicts" : conflicts_text(what_if));
    return out + conflict_lines(schedule, what_if);
  }
  return fmt::format("  ordered   NO   {}: {}\n", plan_text(schedule, order), conflicts_text(order)) +
         conflict_lines(schedule, order);
}

std::string method_text(const MethodCheck& check) {
  std::string out = fmt::format("method {}\n", printable(check.name));
  if (check.runnable()) {
    out += "  runnable  yes\n";
  } else {
    const char* label = "  runnable  NO   ";
    for (const std::string& missing : check.missing) {
      out += fmt::format("{}{}\n", label, printable(missing));
      label = "                 ";
    }
  }
  return out + order_text(check);
}

std::string_view name_of_buffer(runtime::BufferPlan::Kind kind) noexcept {
  switch (kind) {
    case runtime::BufferPlan::Kind::Arena:
      return "arena";
    case runtime::BufferPlan::Kind::State:
      return "state";
    case runtime::BufferPlan::Kind::Input:
      return "input";
    case runtime::BufferPlan::Kind::Output:
      return "output";
    case runtime::BufferPlan::Kind::Constant:
      return "constant";
  }
  return "arena";
}

std::string_view name_of_mode(AccessMode mode) noexcept {
  switch (mode) {
    case AccessMode::None:
      return "none";
    case AccessMode::Read:
      return "read";
    case AccessMode::Write:
      return "write";
    case AccessMode::Update:
      return "update";
  }
  return "read";
}

Json step_json(const Schedule& schedule, const PlanCheck& check, std::uint32_t index, std::uint32_t access) {
  const ErrorSite site = runtime::site_of(schedule, schedule.steps[index]);
  const std::uint32_t stream = check.plan.stream_of[index];
  return {{"step", index},
          {"chain", site.chain},
          {"instruction", site.instruction},
          {"delegate", site.delegate < 0 ? Json{} : Json(site.delegate)},
          {"backend", site.backend.empty() ? Json{} : Json(site.backend)},
          {"operator", site.op.empty() ? Json{} : Json(site.op)},
          {"stream", stream == runtime::kNone ? Json{} : Json(stream)},
          {"access", name_of_mode(schedule.accesses[access].mode)},
          {"value", schedule.accesses[access].value}};
}

Json conflict_json(const Schedule& schedule, const PlanCheck& check, const Conflict& conflict) {
  const runtime::BufferPlan& buffer = schedule.buffers[conflict.buffer];
  return {{"first", step_json(schedule, check, conflict.first, conflict.first_access)},
          {"second", step_json(schedule, check, conflict.second, conflict.second_access)},
          {"memory", name_of_buffer(buffer.kind)},
          {"arena", buffer.kind == runtime::BufferPlan::Kind::Arena ? Json(buffer.memory_id) : Json{}},
          {"begin", conflict.begin},
          {"end", conflict.end},
          {"text", runtime::describe(schedule, check.plan, conflict)}};
}

Json plan_json(const MethodCheck& check, const std::optional<PlanCheck>& plan) {
  if (!plan) return {};
  const Schedule& schedule = check.method->schedule();
  Json conflicts = Json::array();
  for (const Conflict& conflict : plan->conflicts) conflicts.push_back(conflict_json(schedule, *plan, conflict));
  return {{"policy", name_of(plan->policy)},
          {"steps", schedule.steps.size()},
          {"streams", plan->streams},
          {"pairs", plan->pairs},
          {"conflicts", std::move(conflicts)}};
}

Json method_json(const MethodCheck& check) {
  const std::optional<bool> ordered = check.ordered();
  return {{"name", check.name},
          {"runnable", check.runnable()},
          {"missing", check.missing},
          {"ordered", ordered ? Json(*ordered) : Json{}},
          {"error", check.error ? error_json(*check.error) : Json{}},
          {"order", plan_json(check, check.order)},
          {"stream_per_delegate", plan_json(check, check.stream_per_delegate)}};
}

}  // namespace

bool CheckReport::good() const {
  return !unsound && std::all_of(methods.begin(), methods.end(), [](const MethodCheck& m) { return m.good(); });
}

std::string check_text(const CheckReport& report) {
  std::string out = fmt::format("{}: {}\n", printable(report.file), report.good() ? "good" : "NOT good");
  if (report.unsound) return out + fmt::format("sound       NO   {}\n", printable(report.unsound->to_string()));
  out += fmt::format("sound       yes  {}\n", report.data_files == 0
                                                  ? "the program"
                                                  : "the program and " + count_text(report.data_files, "data file"));
  for (const MethodCheck& method : report.methods) out += method_text(method);
  if (!report.undecided_buffers.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : report.undecided_buffers) names.push_back(printable(name));
    out += fmt::format("buffers     undecided: {}\n            {}\n", fmt::join(names, ", "), runtime::kHowToDecide);
  }
  if (!report.picture.empty()) out += fmt::format("picture     {}\n", printable(report.picture));
  return out;
}

Json check_json(const CheckReport& report) {
  Json methods = Json::array();
  for (const MethodCheck& method : report.methods) methods.push_back(method_json(method));
  return {{"file", report.file},
          {"good", report.good()},
          {"sound", !report.unsound.has_value()},
          {"error", report.unsound ? error_json(*report.unsound) : Json{}},
          {"methods", std::move(methods)},
          {"undecided_buffers", report.undecided_buffers},
          {"picture", report.picture.empty() ? Json{} : Json(report.picture)}};
}

}  // namespace tandem::cli
