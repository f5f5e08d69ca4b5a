#include "runtime/lower/lower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// One value to another, byte by byte.
struct PlainCopy {
  std::uint32_t from = kNone;
  std::uint32_t to = kNone;
};

/// The arguments of one delegate call that are the same bytes.
struct AliasPair {
  std::uint32_t input = kNone;
  std::uint32_t output = kNone;
};

/// Values that may become one, and what the program would do with the one.
struct Merger {
  std::vector<bool> members{};           ///< By value.
  std::uint32_t remaining = kNone;       ///< The member that stands for all.
  bool outlives_run = false;             ///< `remaining` has contents before the first step, and keeps its last ones.
  std::vector<std::uint32_t> dropped{};  ///< Steps that copy the one onto itself.
  bool is_touched_by_host = false;       ///< By a step that is left.
};

class AliasJoiner {
 public:
  AliasJoiner(const LowerInput& input, Schedule& schedule) : input_{input}, schedule_{schedule} {}

  void run() {
    // What a value holds when is only known along a straight line.
    if (std::ranges::find(schedule_.steps, Step::Kind::JumpFalse, &Step::kind) != schedule_.steps.end()) return;
    find_joinable();
    for (std::size_t i = 0; i < schedule_.steps.size();) {
      // A merger may drop steps before this one, so look again from the start.
      i = join_one(schedule_.steps[i]) ? 0 : i + 1;
    }
  }

 private:
  void find_joinable() {
    joinable_.resize(schedule_.values.size());
    for (std::uint32_t v = 0; v < joinable_.size(); ++v) {
      const ValuePlan& plan = schedule_.values[v];
      joinable_[v] = schedule_.stored[v].is_tensor() && plan.constant == nullptr && !plan.spec.dynamic;
      // What methods share is shared on the host.
      if (plan.is_shared && schedule_.device != DeviceId{}) joinable_[v] = false;
    }
    for (const auto& ends : {input_.method.inputs, input_.method.outputs}) {
      for (const std::int32_t value : ends) joinable_[static_cast<std::size_t>(value)] = false;
    }
    for (std::uint32_t v = 0; v < joinable_.size(); ++v) {
      if (schedule_.source_of(v) != v) joinable_[v] = joinable_[schedule_.source_of(v)] = false;
    }
    for (const Argument* item : schedule_.list_items) {
      if (item != nullptr) joinable_[static_cast<std::size_t>(item - schedule_.stored.data())] = false;
    }
    for (const Step& step : schedule_.steps) {
      const auto args = schedule_.args_of(step);
      const auto modes = schedule_.modes_of(step);
      for (std::size_t a = 0; a < args.size(); ++a) {
        if (step.kind == Step::Kind::Free) joinable_[args[a]] = false;
        if (modes[a] == OpAccess::Alias) joinable_[args[a]] = joinable_[args[0]] = false;
      }
    }
  }

  bool same_spec(std::uint32_t a, std::uint32_t b) const {
    const ArgumentSpec& x = schedule_.values[a].spec;
    const ArgumentSpec& y = schedule_.values[b].spec;
    return x.dtype == y.dtype && std::ranges::equal(x.sizes, y.sizes) && std::ranges::equal(x.dim_order, y.dim_order) &&
           !x.dynamic && !y.dynamic;
  }

  std::optional<PlainCopy> plain_copy(const Step& step) const {
    if (step.kind != Step::Kind::Kernel) return std::nullopt;
    const std::string_view name = schedule_.operators[step.target]->name;
    const auto args = schedule_.args_of(step);
    PlainCopy copy;
    if (name == "et_copy::_h2d_copy.out" || name == "et_copy::_d2h_copy.out") {
      copy = {args[0], args[1]};
    } else if (name == "aten::copy_") {
      copy = {args[1], args[0]};
    } else {
      return std::nullopt;
    }
    if (!same_spec(copy.from, copy.to)) return std::nullopt;
    return PlainCopy{schedule_.source_of(copy.from), schedule_.source_of(copy.to)};
  }

  /// Of arguments that are not one value already.
  std::vector<AliasPair> pairs_of(const Step& step) const {
    std::vector<AliasPair> pairs;
    if (step.kind != Step::Kind::Delegate) return pairs;
    const DelegatePlan& plan = schedule_.delegates[step.target];
    const auto args = schedule_.args_of(step);
    for (const AliasedOutput& alias : plan.aliased_outputs) {
      const AliasPair pair{schedule_.source_of(args[alias.input]),
                           schedule_.source_of(args[args.size() - plan.output_count + alias.output])};
      if (pair.input != pair.output) pairs.push_back(pair);
    }
    return pairs;
  }

  bool join_one(const Step& step) {
    for (const AliasPair& pair : pairs_of(step)) {
      if (!joinable_[pair.input] || !joinable_[pair.output] || !same_spec(pair.input, pair.output)) continue;
      Merger all{.members = connected(pair), .remaining = pair.input};
      const bool one_side = schedule_.device == DeviceId{};
      if (is_sound(all) && (one_side || !all.is_touched_by_host)) {
        merge(all);
        return true;
      }
      Merger two{.members = std::vector<bool>(joinable_.size()), .remaining = pair.input};
      two.members[pair.input] = two.members[pair.output] = true;
      if (is_sound(two)) {
        merge(two);
        return true;
      }
    }
    return false;
  }

  /// The pair, and what copies and other delegates' pairs connect with it.
  std::vector<bool> connected(const AliasPair& pair) const {
    std::vector<bool> members(joinable_.size());
    members[pair.input] = members[pair.output] = true;
    const auto connect = [&](std::uint32_t a, std::uint32_t b) {
      if (members[a] == members[b] || !joinable_[a] || !joinable_[b] || !same_spec(a, b)) return false;
      members[a] = members[b] = true;
      return true;
    };
    for (bool grew = true; grew;) {
      grew = false;
      for (const Step& step : schedule_.steps) {
        if (const auto copy = plain_copy(step)) grew = connect(copy->from, copy->to) || grew;
        for (const AliasPair& other : pairs_of(step)) grew = connect(other.input, other.output) || grew;
      }
    }
    return members;
  }

  /// Finds the member that has contents before the run. False if there are two.
  bool find_remaining(Merger& merger) const {
    std::vector<bool> seen(joinable_.size());
    std::vector<std::uint32_t> lasting;
    const auto note = [&](std::uint32_t value) {
      if (std::ranges::find(lasting, value) == lasting.end()) lasting.push_back(value);
    };
    for (std::uint32_t v = 0; v < seen.size(); ++v) {
      const ValuePlan& plan = schedule_.values[v];
      if (merger.members[v] && (!plan.initial.empty() || !plan.name.empty())) note(v);
    }
    for (const Step& step : schedule_.steps) {
      for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
        if (merger.members[value] && reads(mode) && !seen[value]) note(value);
      });
      for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess) { seen[value] = true; });
    }
    if (lasting.size() > 1) return false;
    merger.outlives_run = lasting.size() == 1;
    if (merger.outlives_run) merger.remaining = lasting.front();
    return true;
  }

  /// Walks the steps with a number for what each value holds: the one value must hold what each member would, wherever
  /// that is read.
  bool is_sound(Merger& merger) const {
    if (!find_remaining(merger)) return false;
    std::vector<std::uint32_t> held(joinable_.size());
    for (std::uint32_t v = 0; v < held.size(); ++v) held[v] = v;
    auto next = static_cast<std::uint32_t>(held.size());
    std::uint32_t one = merger.outlives_run ? merger.remaining : kNone;
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      if (const auto copy = plain_copy(step)) {
        if (merger.members[copy->from] && held[copy->from] != one) return false;
        held[copy->to] = held[copy->from];
        if (!merger.members[copy->to]) continue;
        if (held[copy->to] == one) {
          merger.dropped.push_back(i);
        } else {
          one = held[copy->to];
          merger.is_touched_by_host = merger.is_touched_by_host || is_host_operator(step);
        }
        continue;
      }
      if (!touch(merger, step, held, one, next)) return false;
    }
    return !merger.outlives_run || held[merger.remaining] == one;
  }

  /// The copies between host and device become steps of the device.
  bool is_host_operator(const Step& step) const {
    return step.kind == Step::Kind::Kernel && schedule_.operators[step.target]->name == "aten::copy_";
  }

  bool touch(Merger& merger, const Step& step, std::vector<std::uint32_t>& held, std::uint32_t& one,
             std::uint32_t& next) const {
    std::uint32_t touched = 0;
    std::uint32_t written = 0;
    bool stale = false;
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (merger.members[value]) {
        ++touched;
        const bool keeps_some = reads(mode) || mode == OpAccess::Partial;
        stale = stale || (keeps_some && held[value] != one);
        if (writes(mode)) ++written;
      }
      if (writes(mode)) held[value] = next++;
    });
    if (stale) return false;
    std::uint32_t paired = 0;
    for (const AliasPair& pair : pairs_of(step)) {
      held[pair.output] = held[pair.input];
      if (merger.members[pair.input] && merger.members[pair.output]) ++paired;
    }
    // Beside the two arguments that are one anyway, a step that writes the one value touches no other member.
    if (written != 0 && touched != (paired == 1 ? 2U : 1U)) return false;
    if (touched != 0 && !is_on_device(schedule_, step)) merger.is_touched_by_host = true;
    if (written == 0) return true;
    for (std::size_t a = 0; a < step.arg_count; ++a) {
      const std::uint32_t value = schedule_.args_of(step)[a];
      if (merger.members[value] && writes(schedule_.modes_of(step)[a])) one = held[value];
    }
    return true;
  }

  void merge(const Merger& merger) {
    for (const Step& step : schedule_.steps) {
      for (const AliasPair& pair : pairs_of(step)) {
        if (!merger.members[pair.input] || !merger.members[pair.output]) continue;
        for (std::uint32_t a = step.arg_count - 1; schedule_.args[step.first_arg + a] != pair.input; --a) {
          if (schedule_.args[step.first_arg + a] == pair.output) schedule_.modes[step.first_arg + a] = OpAccess::None;
        }
      }
    }
    for (std::uint32_t& value : schedule_.args) {
      if (merger.members[value]) value = merger.remaining;
    }
    for (std::uint32_t v = 0; v < merger.members.size(); ++v) {
      // The program's place for a value ends with that value; the one is in use for longer.
      const bool keeps_place = v == merger.remaining && merger.outlives_run;
      if (merger.members[v] && !keeps_place) schedule_.values[v].planned_memory_id = 0;
    }
    for (auto step = merger.dropped.rbegin(); step != merger.dropped.rend(); ++step) {
      schedule_.steps.erase(schedule_.steps.begin() + *step);
    }
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::vector<bool> joinable_{};  // by value
};

}  // namespace

void join_aliases(const LowerInput& input, Schedule& schedule) { AliasJoiner{input, schedule}.run(); }

}  // namespace tandem::runtime
