#include "runtime/lower/lower.h"

#include <optional>

namespace tandem::runtime {
namespace {

std::optional<AccessMode> access_mode(OpAccess mode) {
  switch (mode) {
    case OpAccess::Read:
      return AccessMode::Read;
    case OpAccess::Write:
      return AccessMode::Write;
    case OpAccess::Update:
    case OpAccess::Partial:
      return AccessMode::Update;
    case OpAccess::None:
    case OpAccess::Shape:
    case OpAccess::Alias:
    case OpAccess::Result:
    case OpAccess::Return:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void collect_accesses(Schedule& schedule) {
  for (Step& step : schedule.steps) {
    step.first_access = static_cast<std::uint32_t>(schedule.accesses.size());
    step.changes_state = step.kind == Step::Kind::Delegate && schedule.delegates[step.target].stateful;
    // A move and a free touch handles, not bytes.
    if (step.kind != Step::Kind::Move && step.kind != Step::Kind::Free) {
      for_each_tensor(schedule, step, [&schedule, &step](std::uint32_t value, OpAccess op_mode) {
        const std::optional<AccessMode> mode = access_mode(op_mode);
        if (!mode) return;
        for (const std::uint32_t root : schedule.values[value].roots) {
          const Location& place = schedule.values[root].place;
          if (place.buffer == kNone || place.bytes == 0) continue;
          schedule.accesses.push_back({.value = value,
                                       .buffer = place.buffer,
                                       .begin = place.offset,
                                       .end = place.offset + place.bytes,
                                       .mode = *mode});
          if (*mode != AccessMode::Read && schedule.buffers[place.buffer].kind == BufferPlan::Kind::State) {
            step.changes_state = true;
          }
        }
      });
    }
    step.access_count = static_cast<std::uint32_t>(schedule.accesses.size()) - step.first_access;
  }
}

}  // namespace tandem::runtime
