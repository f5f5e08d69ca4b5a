#include "runtime/lower/lower.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// Operators that exporters put where a value crosses between host and device: (from, to, to).
bool is_copy_operator(const Operator& op) {
  return op.name == "et_copy::_h2d_copy.out" || op.name == "et_copy::_d2h_copy.out";
}

class DeviceAssigner {
 public:
  DeviceAssigner(const LowerInput& input, Schedule& schedule)
      : input_{input},
        schedule_{schedule},
        group_(schedule.values.size()),
        on_host_(schedule.values.size()),
        on_device_(schedule.values.size()),
        shadow_(schedule.values.size(), kNone) {
    std::iota(group_.begin(), group_.end(), 0U);
  }

  Status run() {
    for (Step& step : schedule_.steps) find_copy(step);
    for (const Step& step : schedule_.steps) join_views(step);
    for (std::uint32_t v = 0; v < group_.size(); ++v) group_[group_of(v)] = group_of(schedule_.source_of(v));
    for (const Step& step : schedule_.steps) note_sides(step);
    note_interface();
    for (std::uint32_t v = 0; v < group_.size(); ++v) {
      if (schedule_.stored[v].is_tensor()) schedule_.values[v].device = home_of(v);
    }
    return add_crossings();
  }

 private:
  std::uint32_t group_of(std::uint32_t value) {
    while (group_[value] != value) value = group_[value] = group_[group_[value]];
    return value;
  }

  void find_copy(Step& step) {
    if (step.kind != Step::Kind::Kernel || !is_copy_operator(*schedule_.operators[step.target])) return;
    step.kind = Step::Kind::Copy;
    step.arg_count = 2;  // the third argument repeats the second
  }

  /// A view lives where its source lives.
  void join_views(const Step& step) {
    const auto args = schedule_.args_of(step);
    const auto modes = schedule_.modes_of(step);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (modes[i] == OpAccess::Alias) group_[group_of(args[i])] = group_of(args[0]);
    }
  }

  void note_sides(const Step& step) {
    if (step.kind == Step::Kind::Copy || step.kind == Step::Kind::Move || step.kind == Step::Kind::Free) return;
    auto& side = is_on_device(schedule_, step) ? on_device_ : on_host_;
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (reads(mode) || writes(mode)) side[group_of(value)] = true;
    });
  }

  /// Callers find inputs and outputs where the file says, constants are in the file, and what methods share is where
  /// any of them may touch it.
  void note_interface() {
    const auto note = [this](std::int32_t index) {
      const auto value = static_cast<std::uint32_t>(index);
      if (!schedule_.stored[value].is_tensor()) return;
      (schedule_.values[value].device == DeviceId{} ? on_host_ : on_device_)[group_of(value)] = true;
    };
    for (const std::int32_t input : input_.method.inputs) note(input);
    for (const std::int32_t output : input_.method.outputs) note(output);
    for (std::uint32_t v = 0; v < group_.size(); ++v) {
      if (schedule_.values[v].constant != nullptr || schedule_.values[v].is_shared) on_host_[group_of(v)] = true;
    }
  }

  DeviceId home_of(std::uint32_t value) {
    const std::uint32_t group = group_of(value);
    if (on_host_[group]) return {};
    if (on_device_[group]) return schedule_.device;
    return schedule_.values[value].device;  // nothing but copies touch it
  }

  /// The value's second home, on the device.
  std::uint32_t shadow_of(std::uint32_t value) {
    if (shadow_[value] != kNone) return shadow_[value];
    const ValuePlan& original = schedule_.values[value];
    ValuePlan plan;
    plan.spec = original.spec;
    plan.device = schedule_.device;
    plan.place.bytes = original.place.bytes;
    shadow_[value] = static_cast<std::uint32_t>(schedule_.values.size());
    schedule_.values.push_back(std::move(plan));
    schedule_.stored.push_back(schedule_.stored[value]);
    return shadow_[value];
  }

  void add_copy(std::uint32_t from, std::uint32_t to, const Step& beside) {
    Step copy;
    copy.kind = Step::Kind::Copy;
    copy.chain = beside.chain;
    copy.instruction = beside.instruction;
    copy.first_arg = static_cast<std::uint32_t>(schedule_.args.size());
    copy.arg_count = 2;
    schedule_.args.insert(schedule_.args.end(), {from, to});
    schedule_.modes.insert(schedule_.modes.end(), {OpAccess::Read, OpAccess::Write});
    steps_.push_back(copy);
  }

  /// Gives device steps the second homes of values that live on the host, with copies around them where these are
  /// stale.
  Status add_crossings() {
    const std::size_t count = schedule_.steps.size();
    std::vector<bool> is_target(count + 1);
    for (const Step& step : schedule_.steps) {
      if (step.kind == Step::Kind::JumpFalse) is_target[step.target] = true;
    }
    std::vector<std::uint32_t> moved_to(count + 1);
    std::vector<bool> fresh(shadow_.size());  // the second home has the bytes
    for (std::uint32_t i = 0; i < count; ++i) {
      if (is_target[i]) fresh.assign(fresh.size(), false);
      moved_to[i] = static_cast<std::uint32_t>(steps_.size());
      const Step step = schedule_.steps[i];
      if (step.kind == Step::Kind::Delegate && is_on_device(schedule_, step)) {
        TANDEM_CHECK_OK(cross(step, fresh));
      } else {
        for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
          if (writes(mode) || mode == OpAccess::Alias) forget(value, fresh);
        });
        steps_.push_back(step);
      }
      if (step.kind == Step::Kind::JumpFalse) fresh.assign(fresh.size(), false);
    }
    moved_to[count] = static_cast<std::uint32_t>(steps_.size());
    for (Step& step : steps_) {
      if (step.kind == Step::Kind::JumpFalse) step.target = moved_to[step.target];
    }
    schedule_.steps = std::move(steps_);
    return {};
  }

  void forget(std::uint32_t value, std::vector<bool>& fresh) {
    for (std::uint32_t v = 0; v < fresh.size(); ++v) {
      if (shadow_[v] != kNone && group_of(v) == group_of(value)) fresh[v] = false;
    }
  }

  Status cross(Step step, std::vector<bool>& fresh) {
    std::vector<std::uint32_t> written;
    for (std::uint32_t a = 0; a < step.arg_count; ++a) {
      const std::uint32_t value = schedule_.args[step.first_arg + a];
      const OpAccess mode = schedule_.modes[step.first_arg + a];
      const Argument& stored = schedule_.stored[value];
      for (const Argument* item : stored.items) {
        if (item == nullptr || !item->is_tensor()) continue;
        if (schedule_.values[static_cast<std::size_t>(item - schedule_.stored.data())].device == schedule_.device)
          continue;
        return Error{ErrorCode::NotSupported, "a list for a delegate on the device has an item that lives on the host"}
            .with_site(site_of(schedule_, step))
            .with_value(static_cast<int>(value));
      }
      if (!stored.is_tensor() || schedule_.values[value].device == schedule_.device) continue;
      const std::uint32_t second = shadow_of(value);
      if (reads(mode) && !fresh[value]) add_copy(value, second, step);
      schedule_.args[step.first_arg + a] = second;
      if (writes(mode)) written.push_back(value);
      if (reads(mode)) fresh[value] = true;
    }
    steps_.push_back(step);
    for (const std::uint32_t value : written) {
      forget(value, fresh);
      add_copy(shadow_[value], value, step);
      fresh[value] = true;
    }
    return {};
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::vector<std::uint32_t> group_;  // views and what they view, as a forest
  std::vector<bool> on_host_;         // by group
  std::vector<bool> on_device_;
  std::vector<std::uint32_t> shadow_;  // by value
  std::vector<Step> steps_{};
};

}  // namespace

Status assign_devices(const LowerInput& input, Schedule& schedule) {
  if (schedule.device == DeviceId{}) return {};
  return DeviceAssigner{input, schedule}.run();
}

}  // namespace tandem::runtime
