#include "runtime/lower/lower.h"

#include "base/checked.h"
#include "base/host_memory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// The steps of one branch between which the bytes of a value are in use. The number of steps stands for the end.
struct Span {
  std::uint32_t branch = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct Lifetime {
  std::uint32_t value = kNone;
  std::vector<Span> spans{};  ///< One without branches; none: no step touches it.

  void touch(std::uint32_t step, std::uint32_t branch) {  // steps come in ascending order
    const auto at = std::ranges::find(spans, branch, &Span::branch);
    if (at == spans.end()) {
      spans.push_back({branch, step, step});
    } else {
      at->last = step;
    }
  }
};

/// Fitting compares every value with every placed one; beyond this many, memory is cheaper than time.
constexpr std::size_t kMaxFitted = 4096;

/// Whether all steps of `a` are over before any of `b` begins.
bool before(const BranchPlan& branches, const Lifetime& a, const Lifetime& b) {
  return std::ranges::all_of(a.spans, [&](const Span& x) {
    return std::ranges::all_of(b.spans, [&](const Span& y) { return branches.before(x.last, y.first); });
  });
}

bool has_jumps(const Schedule& schedule) {
  return std::any_of(schedule.steps.begin(), schedule.steps.end(),
                     [](const Step& step) { return step.kind == Step::Kind::JumpFalse; });
}

/// Values on `device` that steps write and that the program gave no memory.
std::vector<Lifetime> find_unplanned(const Schedule& schedule, DeviceId device) {
  std::vector<Lifetime> lifetimes(schedule.values.size());
  std::vector<bool> written(schedule.values.size());
  const auto touch = [&](std::uint32_t value, std::uint32_t step) {
    const bool is_end = step == schedule.steps.size();
    for (const std::uint32_t root : schedule.values[value].roots) {
      lifetimes[root].touch(step, is_end ? 0 : schedule.branches.of(step));
    }
  };
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    for_each_tensor(schedule, schedule.steps[i], [&](std::uint32_t value, OpAccess mode) {
      touch(value, i);
      if (writes(mode)) written[value] = true;
    });
  }
  for (const std::uint32_t output : schedule.outputs) {
    touch(output, static_cast<std::uint32_t>(schedule.steps.size()));
  }
  std::vector<Lifetime> unplanned;
  for (std::uint32_t v = 0; v < schedule.values.size(); ++v) {
    lifetimes[v].value = v;
    if (written[v] && schedule.values[v].device == device && schedule.values[v].place.buffer == kNone &&
        !schedule.values[v].roots.empty() && schedule.values[v].roots.front() == v) {
      unplanned.push_back(std::move(lifetimes[v]));
    }
  }
  return unplanned;
}

std::uint64_t alignment_of(const ValuePlan& value) {
  return std::max<std::uint64_t>(base::kHostAlignment, value.alignment);
}

/// The lowest offset at which `bytes` are free of every placed value that lives at the same time.
std::uint64_t fit(const Schedule& schedule, std::span<const Lifetime> placed, const Lifetime& next,
                  std::uint64_t bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const Lifetime& other : placed) {
    if (before(schedule.branches, other, next) || before(schedule.branches, next, other)) continue;
    const Location& place = schedule.values[other.value].place;
    taken.emplace_back(place.offset, base::align_up(place.offset + place.bytes, base::kHostAlignment));
  }
  std::sort(taken.begin(), taken.end());
  std::uint64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + bytes <= begin) break;
    offset = base::align_up(std::max(offset, end), alignment_of(schedule.values[next.value]));
  }
  return offset;
}

Status add_own_arena(Schedule& schedule, DeviceId device) {
  std::vector<Lifetime> unplanned = find_unplanned(schedule, device);
  if (unplanned.empty()) return {};
  std::uint64_t total = 0;
  for (const Lifetime& lifetime : unplanned) {
    const ValuePlan& value = schedule.values[lifetime.value];
    const auto sum = base::checked_add(total, value.place.bytes + 2 * alignment_of(value));
    if (!sum || *sum > INT64_MAX) {
      return Error{ErrorCode::InvalidProgram, "the sizes of unplanned values overflow"}
          .with_method(std::string{schedule.method})
          .with_value(static_cast<int>(lifetime.value));
    }
    total = *sum;
  }
  const auto buffer = static_cast<std::uint32_t>(schedule.buffers.size());
  schedule.buffers.push_back({.kind = BufferPlan::Kind::Arena, .device = device});
  const bool may_share = !has_jumps(schedule) && unplanned.size() <= kMaxFitted;
  std::sort(unplanned.begin(), unplanned.end(), [&](const Lifetime& a, const Lifetime& b) {
    const std::uint64_t a_bytes = schedule.values[a.value].place.bytes;
    const std::uint64_t b_bytes = schedule.values[b.value].place.bytes;
    return a_bytes != b_bytes ? a_bytes > b_bytes : a.value < b.value;
  });
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < unplanned.size(); ++i) {
    Location& place = schedule.values[unplanned[i].value].place;
    const std::uint64_t behind = base::align_up(end, alignment_of(schedule.values[unplanned[i].value]));
    place.offset = may_share ? fit(schedule, std::span{unplanned}.first(i), unplanned[i], place.bytes) : behind;
    place.buffer = buffer;
    end = std::max(end, base::align_up(place.offset + place.bytes, base::kHostAlignment));
  }
  return {};
}

}  // namespace

Status plan_memory(Schedule& schedule) {
  TANDEM_CHECK_OK(add_own_arena(schedule, {}));
  if (schedule.device != DeviceId{}) TANDEM_CHECK_OK(add_own_arena(schedule, schedule.device));
  for (const ValuePlan& value : schedule.values) {
    if (value.place.buffer == kNone) continue;
    BufferPlan& buffer = schedule.buffers[value.place.buffer];
    if (buffer.kind == BufferPlan::Kind::Arena) {
      buffer.bytes = std::max(buffer.bytes, value.place.offset + value.place.bytes);
    }
  }
  return {};
}

}  // namespace tandem::runtime
