#include "runtime/order/lifetime.h"

#include "runtime/order/flow.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// A set of values that can be walked.
class LiveSet {
 public:
  explicit LiveSet(std::size_t values) : position_(values, kNone) {}
  void add(std::uint32_t value) {
    if (position_[value] != kNone) return;
    position_[value] = static_cast<std::uint32_t>(members_.size());
    members_.push_back(value);
  }
  void remove(std::uint32_t value) {
    const std::uint32_t at = position_[value];
    if (at == kNone) return;
    members_[at] = members_.back();
    position_[members_[at]] = at;
    members_.pop_back();
    position_[value] = kNone;
  }
  void clear() {
    for (const std::uint32_t value : members_) position_[value] = kNone;
    members_.clear();
  }
  [[nodiscard]] const std::vector<std::uint32_t>& members() const noexcept { return members_; }

 private:
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> members_;
};

class LifetimeCheck {
 public:
  explicit LifetimeCheck(const Schedule& schedule)
      : schedule_{schedule},
        live_{schedule.values.size()},
        first_write_(schedule.values.size(), UINT32_MAX),
        in_arena_(schedule.values.size()) {
    for (std::uint32_t v = 0; v < schedule.values.size(); ++v) {
      for (const std::uint32_t root : schedule.values[v].roots) in_arena_[v] = in_arena_[v] || arena_of(root) != kNone;
    }
  }

  Status run() {
    const std::vector<Block> blocks = find_blocks(schedule_);
    TANDEM_TRY(const Definitions definitions, find_definitions(schedule_, blocks));
    TANDEM_TRY(const ValueSets live_out, find_live_out(schedule_, blocks));
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      note_first_writes(blocks[b]);
      live_.clear();
      for (std::uint32_t v = 0; v < schedule_.values.size(); ++v) {
        if (in_arena_[v] && live_out.has(b, v)) live_.add(v);
      }
      for (std::uint32_t i = blocks[b].end; i-- > blocks[b].begin;) {
        TANDEM_CHECK_OK(check_step(
            i, [&](std::uint32_t value) { return definitions.may.has(b, value) || first_write_[value] < i; }));
        step_back(schedule_.steps[i]);
      }
    }
    return {};
  }

 private:
  std::uint32_t arena_of(std::uint32_t root) const {
    const std::uint32_t buffer = schedule_.values[root].place.buffer;
    return buffer != kNone && schedule_.buffers[buffer].kind == BufferPlan::Kind::Arena ? buffer : kNone;
  }

  void note_first_writes(const Block& block) {
    std::fill(first_write_.begin(), first_write_.end(), UINT32_MAX);
    for (std::uint32_t i = block.end; i-- > block.begin;) {
      for_each_tensor(schedule_, schedule_.steps[i], [&](std::uint32_t value, OpAccess mode) {
        if (writes(mode) || mode == OpAccess::Alias) first_write_[value] = i;
      });
    }
  }

  /// From "live after the step" to "live before it".
  void step_back(const Step& step) {
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (mode == OpAccess::Write || mode == OpAccess::Alias) live_.remove(value);
    });
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (in_arena_[value] && reads(mode)) live_.add(value);
      const std::uint32_t source = schedule_.source_of(schedule_.args_of(step)[0]);
      if (mode == OpAccess::Alias && in_arena_[source]) live_.add(source);
    });
  }

  template <class MayBeDefined>
  Status check_step(std::uint32_t index, MayBeDefined&& may_be_defined) {
    const Step& step = schedule_.steps[index];
    touched_.clear();
    bool any_write = false;
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (!in_arena_[value]) return;
      touched_.push_back({value, mode});
      any_write = any_write || writes(mode);
    });
    if (!any_write) return {};
    for (const auto& [written, mode] : touched_) {
      if (!writes(mode)) continue;
      for (const std::uint32_t other : live_.members()) {
        if (other != written && may_be_defined(other)) TANDEM_CHECK_OK(compare(index, written, other, false));
      }
      for (const auto& [other, other_mode] : touched_) {
        if (other != written && (reads(other_mode) || writes(other_mode))) {
          TANDEM_CHECK_OK(compare(index, written, other, true));
        }
      }
    }
    return {};
  }

  Status compare(std::uint32_t index, std::uint32_t written, std::uint32_t other, bool same_step) const {
    const std::vector<std::uint32_t>& written_roots = schedule_.values[written].roots;
    for (const std::uint32_t kept : schedule_.values[other].roots) {
      if (std::binary_search(written_roots.begin(), written_roots.end(), kept)) continue;
      for (const std::uint32_t taken : written_roots) {
        if (arena_of(taken) == kNone || arena_of(taken) != arena_of(kept)) continue;
        const Location& a = schedule_.values[taken].place;
        const Location& b = schedule_.values[kept].place;
        const std::uint64_t begin = std::max(a.offset, b.offset);
        const std::uint64_t end = std::min(a.offset + a.bytes, b.offset + b.bytes);
        if (begin < end) return violation(index, written, other, begin, end, same_step);
      }
    }
    return {};
  }

  /// The next step that reads `value`, in program order; for people, so jumps do not matter.
  std::string next_reader(std::uint32_t index, std::uint32_t value) const {
    for (std::size_t i = 1; i <= schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[(index + i) % schedule_.steps.size()];
      bool found = false;
      for_each_tensor(schedule_, step, [&](std::uint32_t touched, OpAccess mode) {
        found = found || (touched == value && reads(mode));
      });
      if (found) return describe(schedule_, step);
    }
    return "the outputs";
  }

  Error violation(std::uint32_t index, std::uint32_t written, std::uint32_t other, std::uint64_t begin,
                  std::uint64_t end, bool same_step) const {
    const Step& step = schedule_.steps[index];
    const std::uint32_t buffer = arena_of(schedule_.values[written].roots.front());
    const std::uint32_t memory_id = buffer == kNone ? 0 : schedule_.buffers[buffer].memory_id;
    const std::string bytes =
        "bytes [" + std::to_string(begin) + ", " + std::to_string(end) + ") of arena " + std::to_string(memory_id);
    const std::string kept = "value " + std::to_string(other);
    return Error{ErrorCode::OrderViolation, "a step writes bytes that another value still needs"}
        .with_expected(bytes + " to keep " + kept + " for " + (same_step ? "the same step" : next_reader(index, other)),
                       describe(schedule_, step) + " writes value " + std::to_string(written) + " there")
        .with_site(site_of(schedule_, step))
        .with_value(static_cast<int>(written));
  }

  struct Touch {
    std::uint32_t value;
    OpAccess mode;
  };

  const Schedule& schedule_;
  LiveSet live_;
  std::vector<std::uint32_t> first_write_;
  std::vector<bool> in_arena_;
  std::vector<Touch> touched_{};
};

}  // namespace

Status check_lifetimes(const Schedule& schedule) { return LifetimeCheck{schedule}.run(); }

}  // namespace tandem::runtime
