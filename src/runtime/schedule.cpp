#include "runtime/schedule.h"

#include <algorithm>

namespace tandem::runtime {

std::uint32_t Schedule::scratch_slots() const noexcept {
  std::uint32_t slots = streams.streams;
  for (const Region& region : regions) slots = std::max(slots, region.branches);
  return slots;
}

bool is_on_device(const Schedule& schedule, const Step& step) noexcept {
  if (schedule.device == DeviceId{}) return false;
  return step.kind == Step::Kind::Copy ||
         (step.kind == Step::Kind::Delegate && !schedule.delegates[step.target].on_host);
}

std::string describe(const Schedule& schedule, const Step& step) {
  std::string text = "instruction " + std::to_string(step.instruction);
  if (step.chain != 0) text += " of chain " + std::to_string(step.chain);
  switch (step.kind) {
    case Step::Kind::Kernel:
      return text + " (" + std::string{schedule.operators[step.target]->name} + ")";
    case Step::Kind::Delegate:
      return text + " (delegate " + std::to_string(step.target) + ", " +
             std::string{schedule.delegates[step.target].backend_id} + ")";
    case Step::Kind::Copy: {
      const DeviceId to = schedule.values[schedule.args_of(step)[1]].device;
      return text + " (copy to " + to_string(to) + ")";
    }
    case Step::Kind::Move:
      return text + " (move)";
    case Step::Kind::JumpFalse:
      return text + " (jump)";
    case Step::Kind::Free:
      return text + " (free)";
  }
  return text;
}

ErrorSite site_of(const Schedule& schedule, const Step& step) {
  ErrorSite site;
  site.method = schedule.method;
  site.chain = static_cast<int>(step.chain);
  site.instruction = static_cast<int>(step.instruction);
  if (step.kind == Step::Kind::Kernel) site.op = schedule.operators[step.target]->name;
  if (step.kind == Step::Kind::Delegate) {
    site.delegate = static_cast<int>(step.target);
    site.backend = schedule.delegates[step.target].backend_id;
  }
  return site;
}

}  // namespace tandem::runtime
