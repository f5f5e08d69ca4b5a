#include "base/checked.h"
#include "base/host_memory.h"
#include "runtime/lower/fit_values.h"
#include "runtime/lower/lower.h"
#include "runtime/order/arena_use.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// Fitting compares every value with every other; beyond this many, memory is cheaper than time.
constexpr std::size_t kMaxFitted = 4096;

/// Whether a plan of the program's needs so much more than what lives at the same time that a new one is worth it.
bool is_too_much(std::uint64_t bytes, std::uint64_t peak) {
  constexpr std::uint64_t kAllowance = std::uint64_t{2} << 20;
  return bytes > peak && bytes - peak > peak / 100 * 3 + kAllowance;
}

class MemoryPlanner {
 public:
  MemoryPlanner(const LowerInput& input, Schedule& schedule)
      : input_{input},
        schedule_{schedule},
        has_jumps_{
            std::ranges::any_of(schedule.steps, [](const Step& step) { return step.kind == Step::Kind::JumpFalse; })},
        lifetimes_{find_lifetimes(schedule)},
        written_(schedule.values.size()) {
    for (const Step& step : schedule.steps) {
      for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
        if (writes(mode)) written_[value] = true;
      });
    }
  }

  Status run() {
    TANDEM_CHECK_OK(plan_side({}));
    if (schedule_.device != DeviceId{}) TANDEM_CHECK_OK(plan_side(schedule_.device));
    measure_arenas();
    return {};
  }

 private:
  using Values = std::vector<std::uint32_t>;

  ValuePlan& plan(std::uint32_t value) { return schedule_.values[value]; }
  [[nodiscard]] const ValuePlan& plan(std::uint32_t value) const { return schedule_.values[value]; }

  /// All arenas for values on `device`.
  Status plan_side(DeviceId device) {
    const Values values = find_values(device);
    Values kept;  // at the program's places
    Values own;
    std::ranges::partition_copy(values, std::back_inserter(kept), std::back_inserter(own),
                                [this](std::uint32_t v) { return keeps_place(v); });
    TANDEM_CHECK_OK(check_sizes(own));
    Fit own_fit = !has_jumps_ && own.size() <= kMaxFitted ? fit(own) : in_a_row(own);
    if (const std::uint64_t bytes = bytes_of_program(kept) + own_fit.bytes; may_renew(kept, values, bytes)) {
      if (Fit renewed = fit(values); renewed.bytes < bytes) {
        own_fit = std::move(renewed);
        own = values;
        kept.clear();
      }
    }
    put_where_planned(kept, device);
    put(own, own_fit, device);
    return {};
  }

  /// Values with bytes of their own that have no buffer, if the program planned them or a step writes them.
  [[nodiscard]] Values find_values(DeviceId device) const {
    Values values;
    for (std::uint32_t v = 0; v < schedule_.values.size(); ++v) {
      if (plan(v).device != device || plan(v).place.buffer != kNone) continue;
      const bool owns_bytes = std::ranges::binary_search(plan(v).roots, v);
      if (owns_bytes && (written_[v] || plan(v).planned_memory_id != 0)) values.push_back(v);
    }
    return values;
  }

  /// Whether its place in the program's plan can be used: operators need whole elements, delegates what they declare,
  /// and where branches run side by side no such place counts.
  [[nodiscard]] bool keeps_place(std::uint32_t value) const {
    const ValuePlan& planned = plan(value);
    return planned.planned_memory_id != 0 && planned.planned_offset % item_bytes(planned.spec.dtype) == 0 &&
           planned.planned_offset % planned.alignment == 0 &&
           !(schedule_.branches.any() && planned.device == schedule_.device);
  }

  [[nodiscard]] static std::uint64_t alignment_of(const ValuePlan& value) {
    return std::max<std::uint64_t>(base::kHostAlignment, value.alignment);
  }

  [[nodiscard]] Status check_sizes(const Values& values) const {
    std::uint64_t total = 0;
    for (const std::uint32_t v : values) {
      const auto sum = base::checked_add(total, plan(v).place.bytes + 2 * alignment_of(plan(v)));
      if (!sum || *sum > INT64_MAX) {
        return Error{ErrorCode::InvalidProgram, "the sizes of unplanned values overflow"}
            .with_method(std::string{schedule_.method})
            .with_value(static_cast<int>(v));
      }
      total = *sum;
    }
    return {};
  }

  /// Lifetimes tell all about bytes only where nothing jumps. What is read before it is written is a state, and in no
  /// arena, so nothing but lifetimes matters.
  [[nodiscard]] bool may_renew(const Values& kept, const Values& values, std::uint64_t bytes) const {
    if (kept.empty() || has_jumps_ || values.size() > kMaxFitted) return false;
    return is_too_much(bytes, std::ranges::max(find_live_bytes(schedule_, lifetimes_, values))) &&
           check_sizes(values).ok();
  }

  /// What the program's arenas need if these values are at their places there.
  [[nodiscard]] std::uint64_t bytes_of_program(const Values& values) const {
    std::map<std::uint32_t, std::uint64_t> ends;  // by memory id
    for (const std::uint32_t v : values) {
      std::uint64_t& end = ends[plan(v).planned_memory_id];
      end = std::max(end, plan(v).planned_offset + plan(v).place.bytes);
    }
    std::uint64_t sum = 0;
    for (const auto& [id, end] : ends) sum += end;
    return sum;
  }

  [[nodiscard]] Fit fit(const Values& values) const {
    const std::vector<std::uint64_t> live = find_live_bytes(schedule_, lifetimes_, values);
    std::vector<FitValue> to_fit;
    Conflicts conflicts{values.size()};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Lifetime& lifetime = lifetimes_[values[i]];
      FitValue value{.bytes = plan(values[i]).place.bytes, .alignment = alignment_of(plan(values[i]))};
      if (!lifetime.spans.empty()) {
        value.steps = lifetime.last() - lifetime.first() + 1;
        value.crowd = *std::max_element(live.begin() + lifetime.first(), live.begin() + lifetime.last() + 1);
      }
      to_fit.push_back(value);
      for (std::size_t j = 0; j < i; ++j) {
        const Lifetime& other = lifetimes_[values[j]];
        if (!before(schedule_.branches, lifetime, other) && !before(schedule_.branches, other, lifetime)) {
          conflicts.add(i, j);
        }
      }
    }
    return fit_values(to_fit, conflicts, std::ranges::max(live));
  }

  [[nodiscard]] Fit in_a_row(const Values& values) const {
    Fit fit;
    for (const std::uint32_t v : values) {
      fit.offsets.push_back(base::align_up(fit.bytes, alignment_of(plan(v))));
      fit.bytes = fit.offsets.back() + plan(v).place.bytes;
    }
    return fit;
  }

  std::uint32_t add_arena(DeviceId device, std::uint32_t memory_id) {
    schedule_.buffers.push_back({.kind = BufferPlan::Kind::Arena, .device = device, .memory_id = memory_id});
    return static_cast<std::uint32_t>(schedule_.buffers.size() - 1);
  }

  /// Those that live elsewhere than planned keep their offsets.
  void put_where_planned(const Values& values, DeviceId device) {
    const bool one_side = schedule_.device == DeviceId{};
    std::map<std::uint32_t, std::uint32_t> arenas;  // memory id -> buffer
    for (const std::uint32_t v : values) {
      const std::uint32_t id = plan(v).planned_memory_id;
      const auto [at, inserted] = arenas.try_emplace(id, kNone);
      if (inserted) at->second = add_arena(one_side ? input_.method.arenas[id].device : device, id);
      plan(v).place.buffer = at->second;
      plan(v).place.offset = plan(v).planned_offset;
    }
  }

  void put(const Values& values, const Fit& fit, DeviceId device) {
    if (values.empty()) return;
    const std::uint32_t arena = add_arena(device, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      plan(values[i]).place.buffer = arena;
      plan(values[i]).place.offset = fit.offsets[i];
    }
  }

  void measure_arenas() {
    for (const ValuePlan& value : schedule_.values) {
      if (value.place.buffer == kNone) continue;
      BufferPlan& buffer = schedule_.buffers[value.place.buffer];
      if (buffer.kind == BufferPlan::Kind::Arena) {
        buffer.bytes = std::max(buffer.bytes, value.place.offset + value.place.bytes);
      }
    }
  }

  const LowerInput& input_;
  Schedule& schedule_;
  bool has_jumps_;
  std::vector<Lifetime> lifetimes_;
  std::vector<bool> written_;
};

}  // namespace

Status plan_memory(const LowerInput& input, Schedule& schedule) { return MemoryPlanner{input, schedule}.run(); }

}  // namespace tandem::runtime
