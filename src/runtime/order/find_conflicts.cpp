#include "runtime/order/order_check.h"

#include "runtime/order/flow.h"
#include "runtime/order/history.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace tandem::runtime {
namespace {

using Point = HappensBefore::Point;
using Sync = StreamPlan::Sync;

bool is_write(AccessMode mode) noexcept { return mode == AccessMode::Write || mode == AccessMode::Update; }

/// The accesses of all steps as a history has them, at the same positions. Bytes that nothing writes, or that one
/// stream alone touches, cannot be in a conflict and are left out: most of a program's bytes are constants.
std::vector<ByteAccess> contested_accesses(const Schedule& schedule, const StreamPlan& plan) {
  struct Use {
    bool written = false;
    bool shared = false;
    bool used = false;
    std::uint32_t stream = 0;
  };
  std::vector<Use> uses(schedule.buffers.size());
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Access& access : schedule.accesses_of(schedule.steps[i])) {
      Use& use = uses[access.buffer];
      use.written = use.written || is_write(access.mode);
      use.shared = use.shared || (use.used && use.stream != plan.stream_of[i]);
      use.used = true;
      use.stream = plan.stream_of[i];
    }
  }
  std::vector<ByteAccess> accesses;
  accesses.reserve(schedule.accesses.size());
  for (const Access& access : schedule.accesses) {
    const bool contested = uses[access.buffer].written && uses[access.buffer].shared;
    accesses.push_back({.buffer = access.buffer,
                        .begin = access.begin,
                        .end = access.end,
                        .mode = contested ? access.mode : AccessMode::None});
  }
  return accesses;
}

class OrderCheck {
 public:
  OrderCheck(const Schedule& schedule, const StreamPlan& plan)
      : schedule_{schedule},
        plan_{plan},
        blocks_{find_blocks(schedule)},
        accesses_{contested_accesses(schedule, plan)},
        border_{std::find(plan.stream_of.begin(), plan.stream_of.end(), kNone) != plan.stream_of.end() ? kHostStream
                                                                                                       : 0} {}

  std::vector<Conflict> run() {
    for (std::size_t b = 0; b < blocks_.size(); ++b) check_block(b);
    const auto key = [](const Conflict& c) {
      return std::tie(c.second, c.second_access, c.first, c.first_access, c.begin);
    };
    std::sort(found_.begin(), found_.end(), [&](const Conflict& a, const Conflict& b) { return key(a) < key(b); });
    found_.erase(std::unique(found_.begin(), found_.end(),
                             [&](const Conflict& a, const Conflict& b) { return key(a) == key(b); }),
                 found_.end());
    return std::move(found_);
  }

 private:
  struct Submitted {
    std::uint32_t step;
    Point at;
  };

  std::uint32_t end_of_method() const { return static_cast<std::uint32_t>(schedule_.steps.size()); }

  std::span<const Sync> syncs_before(std::uint32_t step) const {
    const auto range = std::equal_range(plan_.syncs.begin(), plan_.syncs.end(), Sync{.step = step},
                                        [](const Sync& a, const Sync& b) { return a.step < b.step; });
    return {range.first, range.second};
  }

  static void apply_syncs(HistoryCheck& check, std::span<const Sync> syncs) {
    for (const Sync& sync : syncs) {
      switch (sync.kind) {
        case Sync::Kind::Record:
          check.apply({.kind = Action::Kind::Record, .stream = sync.stream, .event = sync.event});
          break;
        case Sync::Kind::Wait:
          check.apply({.kind = Action::Kind::Wait, .stream = sync.stream, .event = sync.event});
          break;
        case Sync::Kind::Join:
          check.apply({.kind = Action::Kind::Join});
          break;
      }
    }
  }

  void check_block(std::size_t b) {
    const Block& block = blocks_[b];
    HistoryCheck check;
    check.apply({.kind = border_ == kHostStream ? Action::Kind::HostStep : Action::Kind::Submit});
    const Point entry = check.last();
    std::vector<Submitted> submitted;
    std::vector<std::uint32_t> early;
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      apply_syncs(check, syncs_before(i));
      const Step& step = schedule_.steps[i];
      const std::uint32_t stream = plan_.stream_of[i];
      check.apply({.kind = stream == kNone ? Action::Kind::HostStep : Action::Kind::Submit,
                   .stream = stream,
                   .label = i,
                   .accesses = std::span{accesses_}.subspan(step.first_access, step.access_count)});
      submitted.push_back({i, check.last()});
      if (!check.before(entry, stream == kNone ? kHostStream : stream)) early.push_back(i);
    }
    if (!early.empty()) report_entry(b, early);
    std::erase_if(submitted, [&](const Submitted& s) { return check.before(s.at, border_); });
    for (const std::uint32_t next : block.next) {
      if (next != blocks_.size() && !joins_before(blocks_[next].begin)) report_exit(next, submitted);
    }
    if (std::find(block.next.begin(), block.next.end(), blocks_.size()) != block.next.end()) {
      apply_syncs(check, syncs_before(end_of_method()));
      report_end(check, submitted);
    }
    for (const Unordered& pair : check.conflicts()) {
      found_.push_back({.first = pair.first,
                        .second = pair.second,
                        .first_access = schedule_.steps[pair.first].first_access + pair.first_access,
                        .second_access = schedule_.steps[pair.second].first_access + pair.second_access,
                        .buffer = static_cast<std::uint32_t>(pair.buffer),
                        .begin = pair.begin,
                        .end = pair.end});
    }
  }

  bool joins_before(std::uint32_t step) const {
    const auto syncs = syncs_before(step);
    return std::any_of(syncs.begin(), syncs.end(), [](const Sync& sync) { return sync.kind == Sync::Kind::Join; });
  }

  std::vector<bool> reachable_from(std::uint32_t start) const {
    std::vector<bool> reachable(blocks_.size() + 1);
    std::vector<std::uint32_t> open{start};
    while (!open.empty()) {
      const std::uint32_t b = open.back();
      open.pop_back();
      if (reachable[b]) continue;
      reachable[b] = true;
      if (b != blocks_.size()) open.insert(open.end(), blocks_[b].next.begin(), blocks_[b].next.end());
    }
    return reachable;
  }

  /// Steps of stretch `b` that need not come after what earlier stretches left on stream 0.
  void report_entry(std::size_t b, const std::vector<std::uint32_t>& steps) {
    for (const Block& earlier : blocks_) {
      const bool leads_here = std::any_of(earlier.next.begin(), earlier.next.end(),
                                          [&](std::uint32_t next) -> bool { return reachable_from(next)[b]; });
      if (!leads_here) continue;
      for (std::uint32_t i = earlier.begin; i < earlier.end; ++i) {
        for (const std::uint32_t step : steps) report_pair(i, step);
      }
    }
  }

  /// Steps that may still run when the stretch `next`, and what follows it, does.
  void report_exit(std::uint32_t next, const std::vector<Submitted>& steps) {
    if (steps.empty()) return;
    const std::vector<bool> reachable = reachable_from(next);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!reachable[b]) continue;
      for (std::uint32_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
        for (const Submitted& s : steps) report_pair(s.step, i);
      }
    }
  }

  void report_pair(std::uint32_t a, std::uint32_t b) {
    if (plan_.stream_of[a] == plan_.stream_of[b]) return;
    const Step& first = schedule_.steps[std::min(a, b)];
    const Step& second = schedule_.steps[std::max(a, b)];
    for (std::uint32_t i = first.first_access; i < first.first_access + first.access_count; ++i) {
      for (std::uint32_t j = second.first_access; j < second.first_access + second.access_count; ++j) {
        const Access& x = schedule_.accesses[i];
        const Access& y = schedule_.accesses[j];
        const std::uint64_t begin = std::max(x.begin, y.begin);
        const std::uint64_t end = std::min(x.end, y.end);
        if (x.buffer != y.buffer || begin >= end || (!is_write(x.mode) && !is_write(y.mode))) continue;
        found_.push_back({.first = std::min(a, b),
                          .second = std::max(a, b),
                          .first_access = i,
                          .second_access = j,
                          .buffer = x.buffer,
                          .begin = begin,
                          .end = end});
      }
    }
  }

  /// The last step of each stream that what follows the method need not wait for.
  void report_end(const HistoryCheck& check, const std::vector<Submitted>& steps) {
    std::vector<std::uint32_t> seen;
    for (std::size_t i = steps.size(); i-- > 0;) {
      const Step& step = schedule_.steps[steps[i].step];
      if (step.access_count == 0 || check.before(steps[i].at, kHostStream) || check.before(steps[i].at, 0)) continue;
      if (std::find(seen.begin(), seen.end(), steps[i].at.stream) != seen.end()) continue;
      seen.push_back(steps[i].at.stream);
      std::uint32_t chosen = step.first_access;
      for (std::uint32_t a = 0; a < step.access_count; ++a) {
        if (is_write(schedule_.accesses[step.first_access + a].mode)) chosen = step.first_access + a;
      }
      const Access& access = schedule_.accesses[chosen];
      found_.push_back({.first = steps[i].step,
                        .second = end_of_method(),
                        .first_access = chosen,
                        .buffer = access.buffer,
                        .begin = access.begin,
                        .end = access.end});
    }
  }

  const Schedule& schedule_;
  const StreamPlan& plan_;
  std::vector<Block> blocks_;
  std::vector<ByteAccess> accesses_;
  std::uint32_t border_;  // who knows that a stretch is over: the host, or stream 0
  std::vector<Conflict> found_{};
};

}  // namespace

std::vector<Conflict> find_conflicts(const Schedule& schedule, const StreamPlan& plan) {
  const bool one_stream = std::all_of(plan.stream_of.begin(), plan.stream_of.end(), [](auto s) { return s == 0; });
  if (one_stream) return {};  // it orders all, whatever the steps touch
  return OrderCheck{schedule, plan}.run();
}

}  // namespace tandem::runtime
