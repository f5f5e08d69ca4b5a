#include "runtime/lower/lower.h"
#include "runtime/order/flow.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// It depends on the way that the run came.
constexpr std::uint32_t kSeveral = kNone - 1;
/// Blocks times places; a real program with jumps needs hundreds.
constexpr std::size_t kMaxOwners = std::size_t{1} << 20;

/// Which value's bytes are at each of the places that matter; kNone: none's yet.
using Owners = std::vector<std::uint32_t>;

/// ExecuTorch's exporter makes a view by giving it the place of its source. If the view is static and the source
/// planned, it writes no instruction: the view is a tensor that nothing writes, at its source's arena and offset, of
/// the same dtype and size, with its name and initial bytes if the source is a mutable buffer. (A view of a constant is
/// a constant with the same bytes; one that is dynamic, or of what is not planned, has its `et_view`; outputs are no
/// views.) The planner keeps the source's bytes as long as the view is read, so the source is what was written last at
/// the place before the view is read, else the input or the buffer there.
/// Source: `_emit_view` in exir/emit/_emitter.py, `_ViewSpec` in exir/passes/replace_view_copy_with_view_pass.py,
///   `get_node_tensor_specs` in exir/memory_planning.py, of ExecuTorch 1.4.
class ViewFinder {
 public:
  ViewFinder(const LowerInput& input, Schedule& schedule)
      : input_{input},
        schedule_{schedule},
        source_(schedule.values.size(), kNone),
        place_of_(schedule.values.size(), kNone) {}

  Status run() {
    find_candidates();
    if (members_.empty()) return {};
    const std::vector<Block> blocks = find_blocks(schedule_);
    if (members_.size() > kMaxOwners / blocks.size()) {
      return Error{ErrorCode::NotSupported, "too many jumps and views to check"}.with_method(
          std::string{schedule_.method});
    }
    const std::vector<Owners> entries = find_owners(blocks);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (entries[b].empty()) continue;  // nothing leads there
      Owners owners = entries[b];
      for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
        TANDEM_CHECK_OK(read(schedule_.steps[i], owners));
        write(schedule_.steps[i], owners);
      }
      if (std::ranges::find(blocks[b].next, blocks.size()) == blocks[b].next.end()) continue;
      for (const std::int32_t output : input_.method.outputs) {
        const auto value = static_cast<std::uint32_t>(output);
        if (is_candidate_[value]) {
          TANDEM_CHECK_OK(read(value, owners, {.method = std::string{schedule_.method}}));
        }
      }
    }
    set_sources();
    return {};
  }

 private:
  ValuePlan& plan(std::uint32_t value) { return schedule_.values[value]; }
  [[nodiscard]] const ValuePlan& plan(std::uint32_t value) const { return schedule_.values[value]; }

  [[nodiscard]] bool has_place(std::uint32_t value) const {
    const ValuePlan& planned = plan(value);
    return schedule_.stored[value].is_tensor() && planned.constant == nullptr && planned.planned_memory_id != 0 &&
           planned.place.bytes != 0;
  }

  /// Static values that steps read, or that are outputs, and that neither a caller nor a step gives contents, but in
  /// place; and who else is where they are.
  void find_candidates() {
    is_candidate_.resize(schedule_.values.size());
    for (const std::int32_t output : input_.method.outputs) is_candidate_[static_cast<std::size_t>(output)] = true;
    for_each_touch([this](std::uint32_t value, OpAccess mode) {
      if (reads(mode)) is_candidate_[value] = true;
    });
    for_each_touch([this](std::uint32_t value, OpAccess mode) {
      if (mode != OpAccess::Update && defines(mode)) is_candidate_[value] = false;
    });
    for (const std::int32_t value : input_.method.inputs) is_candidate_[static_cast<std::size_t>(value)] = false;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> places;
    const auto key_of = [this](std::uint32_t v) {
      return std::pair{plan(v).planned_memory_id, plan(v).planned_offset};
    };
    for (std::uint32_t v = 0; v < place_of_.size(); ++v) {
      is_candidate_[v] = is_candidate_[v] && has_place(v) && !plan(v).spec.dynamic;
      if (is_candidate_[v]) places.try_emplace(key_of(v), static_cast<std::uint32_t>(places.size()));
    }
    members_.resize(places.size());
    for (std::uint32_t v = 0; v < place_of_.size() && !places.empty(); ++v) {
      const auto place = has_place(v) ? places.find(key_of(v)) : places.end();
      if (place == places.end()) continue;
      place_of_[v] = place->second;
      members_[place->second].push_back(v);
    }
  }

  static bool defines(OpAccess mode) { return writes(mode) || mode == OpAccess::Alias; }

  template <class Fn>
  void for_each_touch(Fn&& fn) const {
    for (const Step& step : schedule_.steps) for_each_touch(step, fn);
  }
  /// With the source of a view as a read.
  template <class Fn>
  void for_each_touch(const Step& step, Fn&& fn) const {
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (mode == OpAccess::Alias) fn(schedule_.args_of(step)[0], OpAccess::Read);
      fn(value, mode);
    });
  }

  /// By block, at its entry; empty where nothing leads.
  [[nodiscard]] std::vector<Owners> find_owners(const std::vector<Block>& blocks) const {
    std::vector<Owners> entries(blocks.size());
    entries[0] = owners_at_start();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (entries[b].empty()) continue;
        Owners owners = entries[b];
        for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) write(schedule_.steps[i], owners);
        for (const std::uint32_t next : blocks[b].next) {
          if (next != blocks.size()) changed = merge(entries[next], owners) || changed;
        }
      }
    }
    return entries;
  }

  [[nodiscard]] Owners owners_at_start() const {
    Owners owners(members_.size(), kNone);
    const auto enter = [&](std::uint32_t value) {
      if (place_of_[value] != kNone && owners[place_of_[value]] == kNone) owners[place_of_[value]] = value;
    };
    // Exporters write a value before its views, which have its name and initial bytes too.
    for (std::uint32_t v = 0; v < place_of_.size(); ++v) {
      if (!plan(v).name.empty() || !plan(v).initial.empty()) enter(v);
    }
    for (const std::int32_t input : input_.method.inputs) enter(static_cast<std::uint32_t>(input));
    return owners;
  }

  static bool merge(Owners& into, const Owners& from) {
    if (into.empty()) {
      into = from;
      return true;
    }
    bool changed = false;
    for (std::size_t p = 0; p < into.size(); ++p) {
      if (into[p] == from[p] || into[p] == kSeveral) continue;
      into[p] = kSeveral;
      changed = true;
    }
    return changed;
  }

  void write(const Step& step, Owners& owners) const {
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      const std::uint32_t place = place_of_[value];
      if (place != kNone && !is_candidate_[value] && defines(mode)) owners[place] = value;
    });
  }

  Status read(const Step& step, const Owners& owners) {
    Status status;
    for_each_touch(step, [&](std::uint32_t value, OpAccess mode) {
      if (reads(mode) && is_candidate_[value] && status.ok()) status = read(value, owners, site_of(schedule_, step));
    });
    return status;
  }

  /// Of a candidate.
  Status read(std::uint32_t value, const Owners& owners, const ErrorSite& site) {
    const std::uint32_t place = place_of_[value];
    const std::uint32_t source = owners[place] == kNone ? oldest_like(value) : owners[place];
    const auto refuse = [&](ErrorCode code, const char* message) {
      return Error{code, message}.with_site(site).with_value(static_cast<int>(value));
    };
    if (source == value) return {};  // a state
    std::uint32_t& known = source_[value];
    if (source == kSeveral || (known != kNone && known != source)) {
      return refuse(ErrorCode::InvalidProgram, "it depends on the way there what a value is a view of");
    }
    known = source;
    if (plan(source).spec.dtype != plan(value).spec.dtype || plan(source).spec.dynamic ||
        plan(source).place.bytes < plan(value).place.bytes) {
      return refuse(ErrorCode::InvalidProgram, "a value that nothing writes is a view of what it does not fit")
          .with_expected("a static value of its dtype and size", "value " + std::to_string(source));
    }
    if (plan(source).reset) {
      return refuse(ErrorCode::NotSupported, "a value that nothing writes is a view of one whose place a step decides")
          .with_expected("a source with memory of its own", "value " + std::to_string(source));
    }
    return {};
  }

  /// The first value with the place and form of `value`. Nobody shares the place of a state but its views.
  [[nodiscard]] std::uint32_t oldest_like(std::uint32_t value) const {
    for (const std::uint32_t other : members_[place_of_[value]]) {
      if (plan(other).spec.dtype == plan(value).spec.dtype && plan(other).place.bytes == plan(value).place.bytes) {
        return other;
      }
    }
    return value;
  }

  /// At the end: from then on steps name sources. Views of views become views of what those view.
  void set_sources() {
    for (std::uint32_t v = 0; v < source_.size(); ++v) {
      std::uint32_t source = source_[v];
      while (source != kNone && source_[source] != kNone) source = source_[source];
      plan(v).view_of = source;
    }
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::vector<bool> is_candidate_{};
  std::vector<std::uint32_t> source_;                  ///< By value; kNone: no view.
  std::vector<std::uint32_t> place_of_;                ///< By value: which of the places that matter; kNone: none.
  std::vector<std::vector<std::uint32_t>> members_{};  ///< By place: the values there, ascending.
};

}  // namespace

Status find_silent_views(const LowerInput& input, Schedule& schedule) { return ViewFinder{input, schedule}.run(); }

}  // namespace tandem::runtime
