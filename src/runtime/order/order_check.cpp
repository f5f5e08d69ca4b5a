#include "runtime/order/order_check.h"

namespace tandem::runtime {
namespace {

std::string stream_name(std::uint32_t stream) {
  return stream == kNone ? "the host" : "stream " + std::to_string(stream);
}

std::string value_name(const Schedule& schedule, std::uint32_t value) {
  const std::string_view name = schedule.values[value].name;
  return "value " + std::to_string(value) + (name.empty() ? "" : " '" + std::string{name} + "'");
}

std::string touches(const Schedule& schedule, const StreamPlan& plan, std::uint32_t step, std::uint32_t access) {
  const char* verb = "reads ";
  if (schedule.accesses[access].mode == AccessMode::Write) verb = "writes ";
  if (schedule.accesses[access].mode == AccessMode::Update) verb = "updates ";
  return describe(schedule, schedule.steps[step]) + " on " + stream_name(plan.stream_of[step]) + " " + verb +
         value_name(schedule, schedule.accesses[access].value);
}

std::string bytes_of(const Schedule& schedule, const Conflict& conflict) {
  const BufferPlan& buffer = schedule.buffers[conflict.buffer];
  const std::string bytes = "bytes [" + std::to_string(conflict.begin) + ", " + std::to_string(conflict.end) + ") of ";
  if (buffer.kind == BufferPlan::Kind::Arena) return bytes + "arena " + std::to_string(buffer.memory_id);
  return bytes + "the memory of " + value_name(schedule, buffer.value);
}

bool is_at_end(const Schedule& schedule, const Conflict& conflict) { return conflict.second == schedule.steps.size(); }

std::string first_touch(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict) {
  return touches(schedule, plan, conflict.first, conflict.first_access) + ", " + bytes_of(schedule, conflict);
}

std::string second_touch(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict) {
  if (is_at_end(schedule, conflict)) return "the method ends";
  return touches(schedule, plan, conflict.second, conflict.second_access);
}

std::string missing_edge(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict) {
  const std::string waiter =
      is_at_end(schedule, conflict) ? "the end of the method" : stream_name(plan.stream_of[conflict.second]);
  return "nothing makes " + waiter + " wait for " + describe(schedule, schedule.steps[conflict.first]) + " on " +
         stream_name(plan.stream_of[conflict.first]);
}

}  // namespace

Status check_order(const Schedule& schedule) {
  const StreamPlan& plan = schedule.streams;
  const std::vector<Conflict> conflicts = find_conflicts(schedule, plan);
  if (conflicts.empty()) return {};
  const Conflict& conflict = conflicts.front();
  const bool at_end = is_at_end(schedule, conflict);
  const std::uint32_t named = at_end ? conflict.first : conflict.second;
  const std::uint32_t access = at_end ? conflict.first_access : conflict.second_access;
  return Error{ErrorCode::OrderViolation, "nothing orders two uses of the same bytes"}
      .with_expected(first_touch(schedule, plan, conflict) + ", before " + second_touch(schedule, plan, conflict),
                     missing_edge(schedule, plan, conflict))
      .with_site(site_of(schedule, schedule.steps[named]))
      .with_value(static_cast<int>(schedule.accesses[access].value));
}

std::string describe(const Schedule& schedule, const StreamPlan& plan, const Conflict& conflict) {
  return first_touch(schedule, plan, conflict) + "; " + second_touch(schedule, plan, conflict) + ": " +
         missing_edge(schedule, plan, conflict);
}

}  // namespace tandem::runtime
