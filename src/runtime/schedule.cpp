#include "runtime/schedule.h"

#include <algorithm>

namespace tandem::runtime {

std::uint32_t Schedule::scratch_slots() const noexcept {
  std::uint32_t slots = streams.streams;
  for (const Region& region : regions) slots = std::max(slots, region.branches);
  return slots;
}

std::span<const SizeBounds> bounds_of(const DelegatePlan& delegate, std::size_t argument) noexcept {
  if (argument >= delegate.input_bounds.size()) return {};
  return delegate.input_bounds[argument];
}

std::string text_of(const SizeBounds& bounds) {
  if (bounds.min == bounds.max) return std::to_string(bounds.min);
  const std::string least = bounds.max == INT64_MAX ? "at least " + std::to_string(bounds.min)
                                                    : std::to_string(bounds.min) + " to " + std::to_string(bounds.max);
  return least + (bounds.zero_unknown && bounds.min == 1 ? " (MethodOptions::input_bounds may allow 0)" : "");
}

std::string size_refusal(const SizeBounds& bounds, std::size_t axis, std::int64_t size) {
  const std::string where = "the size of axis " + std::to_string(axis);
  if (bounds.min == bounds.max) return where + " differs from the only one that the program takes";
  return where + (size < bounds.min ? " is below its lower bound" : " is over its upper bound");
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
