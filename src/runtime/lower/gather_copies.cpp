#include "runtime/lower/lower.h"

#include <algorithm>
#include <vector>

namespace tandem::runtime {
namespace {

/// What steps of the device in a row, without one of the host in between, do to one value. Step numbers.
struct Use {
  std::uint32_t first = kNone;
  std::uint32_t first_write = kNone;  ///< Of all of it.
  std::uint32_t first_change = kNone;
  std::uint32_t last_change = kNone;
  std::uint32_t last = kNone;
};

class CopyGatherer {
 public:
  explicit CopyGatherer(Schedule& schedule)
      : schedule_{schedule},
        is_viewed_(schedule.values.size()),
        was_used_(schedule.values.size()),
        uses_(schedule.values.size()) {
    for (const Step& step : schedule.steps) {
      const auto modes = schedule.modes_of(step);
      if (step.kind != Step::Kind::Move && std::ranges::find(modes, OpAccess::Alias) == modes.end()) continue;
      for (const std::uint32_t arg : schedule.args_of(step)) is_viewed_[schedule.source_of(arg)] = true;
    }
  }

  void run() {
    const auto count = static_cast<std::uint32_t>(schedule_.steps.size());
    for (std::uint32_t begin = 0; begin < count;) {
      std::uint32_t end = begin;
      while (end < count && is_of_device(schedule_.steps[end])) ++end;
      gather(begin, end);
      if (end < count) note(schedule_.steps[end]);
      begin = end + 1;
    }
  }

 private:
  bool is_of_device(const Step& step) const { return is_on_device(schedule_, step) || step.kind == Step::Kind::Free; }

  std::uint32_t source_of(const Step& step, std::size_t arg) const {
    return schedule_.source_of(schedule_.args_of(step)[arg]);
  }

  template <class Fn>
  void for_each_use(const Step& step, Fn&& fn) const {
    if (step.kind == Step::Kind::Free) fn(source_of(step, 0), OpAccess::Update);
    for_each_tensor(schedule_, step, fn);
  }

  void note(const Step& step) {
    for_each_use(step, [this](std::uint32_t value, OpAccess /*mode*/) { was_used_[value] = true; });
  }

  void gather(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
      for_each_use(schedule_.steps[i], [this, begin, i](std::uint32_t value, OpAccess mode) {
        Use& use = uses_[value];
        if (use.first == kNone || use.first < begin) use = {.first = i};
        use.last = i;
        if (writes(mode)) use.last_change = i;
        if (writes(mode) && use.first_change == kNone) use.first_change = i;
        if (mode == OpAccess::Write && use.first_write == kNone) use.first_write = i;
      });
    }
    std::vector<Step> first;
    std::vector<Step> between;
    std::vector<Step> last;
    for (std::uint32_t i = begin; i < end; ++i) {
      const Step& step = schedule_.steps[i];
      if (may_be_first(step, i)) {
        first.push_back(step);
        place_anew(source_of(step, 1));
      } else if (may_be_last(step, i)) {
        last.push_back(step);
        place_anew(source_of(step, 0));
      } else {
        between.push_back(step);
      }
    }
    for (std::uint32_t i = begin; i < end; ++i) note(schedule_.steps[i]);
    auto at = schedule_.steps.begin() + begin;
    for (const auto* part : {&first, &between, &last}) at = std::ranges::copy(*part, at).out;
  }

  bool crosses(const Step& step, bool to_device) const {
    if (step.kind != Step::Kind::Copy) return false;
    const std::uint32_t from = source_of(step, 0);
    const std::uint32_t to = source_of(step, 1);
    return !is_viewed_[from] && !is_viewed_[to] && (schedule_.values[from].device == schedule_.device) != to_device &&
           (schedule_.values[to].device == schedule_.device) == to_device;
  }
  /// From the host, which has the bytes before the row begins, to a value that nobody has used by then.
  bool may_be_first(const Step& step, std::uint32_t index) const {
    if (!crosses(step, /*to_device=*/true)) return false;
    const std::uint32_t to = source_of(step, 1);
    return !was_used_[to] && uses_[to].first == index && uses_[source_of(step, 0)].first_change > index;
  }
  /// To the host, which looks at the bytes after the row, from a value that the row made and leaves alone then.
  bool may_be_last(const Step& step, std::uint32_t index) const {
    if (!crosses(step, /*to_device=*/false)) return false;
    const Use& from = uses_[source_of(step, 0)];
    return uses_[source_of(step, 1)].last == index && from.first_write < index && from.last_change < index;
  }
  /// The value is in use for longer than the exporter's plan knows.
  void place_anew(std::uint32_t value) {
    ValuePlan& plan = schedule_.values[value];
    if (plan.name.empty() && plan.initial.empty()) plan.planned_memory_id = 0;
  }

  Schedule& schedule_;
  std::vector<bool> is_viewed_;
  std::vector<bool> was_used_;  ///< By a step before the row at hand.
  std::vector<Use> uses_;       ///< In the row at hand, where `first` is one of its steps.
};

}  // namespace

void gather_copies(Schedule& schedule) {
  const auto is_jump = [](const Step& step) { return step.kind == Step::Kind::JumpFalse; };
  if (schedule.device == DeviceId{} || std::ranges::any_of(schedule.steps, is_jump)) return;
  CopyGatherer{schedule}.run();
}

}  // namespace tandem::runtime
