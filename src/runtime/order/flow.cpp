#include "runtime/order/flow.h"

#include <algorithm>
#include <string>

namespace tandem::runtime {
namespace {

/// 16 MiB of sets; a real program with jumps needs kilobytes.
constexpr std::size_t kMaxSetBits = std::size_t{1} << 27;

Status check_size(const Schedule& schedule, const std::vector<Block>& blocks) {
  if (schedule.values.size() <= kMaxSetBits / blocks.size()) return {};
  return Error{ErrorCode::NotSupported, "too many jumps and values to check"}
      .with_expected("at most " + std::to_string(kMaxSetBits) + " blocks times values",
                     std::to_string(blocks.size()) + " blocks, " + std::to_string(schedule.values.size()) + " values")
      .with_method(std::string{schedule.method});
}

/// Applies `set = (set & ~remove) | add` along the blocks until nothing changes.
/// `combine(into, from)` merges a predecessor's result into a block's entry.
template <class Combine>
void solve_forward(const std::vector<Block>& blocks, ValueSets& entry, const ValueSets& add, const ValueSets& remove,
                   Combine&& combine) {
  const std::size_t words = entry.words();
  std::vector<std::uint64_t> exit(words);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t w = 0; w < words; ++w) exit[w] = (entry.row(b)[w] & ~remove.row(b)[w]) | add.row(b)[w];
      for (const std::uint32_t next : blocks[b].next) {
        if (next == blocks.size()) continue;
        for (std::size_t w = 0; w < words; ++w) {
          const std::uint64_t merged = combine(entry.row(next)[w], exit[w]);
          changed = changed || merged != entry.row(next)[w];
          entry.row(next)[w] = merged;
        }
      }
    }
  }
}

bool defines(OpAccess mode) noexcept { return writes(mode) || mode == OpAccess::Alias; }

}  // namespace

std::vector<Block> find_blocks(const Schedule& schedule) {
  const auto count = static_cast<std::uint32_t>(schedule.steps.size());
  std::vector<std::uint32_t> leaders{0};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (schedule.steps[i].kind != Step::Kind::JumpFalse) continue;
    leaders.push_back(i + 1);
    leaders.push_back(schedule.steps[i].target);
  }
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  while (leaders.size() > 1 && leaders.back() >= count) leaders.pop_back();

  std::vector<Block> blocks(leaders.size());
  const auto block_at = [&leaders, count](std::uint32_t step) {
    if (step >= count) return static_cast<std::uint32_t>(leaders.size());
    return static_cast<std::uint32_t>(std::lower_bound(leaders.begin(), leaders.end(), step) - leaders.begin());
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].begin = leaders[b];
    blocks[b].end = b + 1 < leaders.size() ? leaders[b + 1] : count;
    blocks[b].next.push_back(block_at(blocks[b].end));
    if (blocks[b].begin == blocks[b].end) continue;
    const Step& last = schedule.steps[blocks[b].end - 1];
    if (last.kind == Step::Kind::JumpFalse) blocks[b].next.push_back(block_at(last.target));
  }
  return blocks;
}

Result<Definitions> find_definitions(const Schedule& schedule, const std::vector<Block>& blocks) {
  TANDEM_CHECK_OK(check_size(schedule, blocks));
  const std::size_t values = schedule.values.size();
  ValueSets add{blocks.size(), values};
  ValueSets remove{blocks.size(), values};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const Step& step = schedule.steps[i];
      if (step.kind == Step::Kind::Free) {
        add.remove(b, schedule.args_of(step)[0]);
        remove.add(b, schedule.args_of(step)[0]);
      }
      for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
        if (defines(mode)) add.add(b, value);
      });
    }
  }
  Definitions found{ValueSets{blocks.size(), values}, ValueSets{blocks.size(), values}};
  for (std::size_t b = 1; b < blocks.size(); ++b) {  // "everything" is the neutral element of an intersection
    std::fill_n(found.must.row(b), found.must.words(), ~std::uint64_t{0});
  }
  const auto start = [&](std::uint32_t value) {
    found.must.add(0, value);
    found.may.add(0, value);
  };
  for (const InputPlan& input : schedule.inputs) start(input.value);
  for (std::uint32_t v = 0; v < values; ++v) {
    if (schedule.values[v].constant != nullptr) start(v);
  }
  solve_forward(blocks, found.must, add, remove, [](std::uint64_t into, std::uint64_t from) { return into & from; });
  solve_forward(blocks, found.may, add, ValueSets{blocks.size(), values},
                [](std::uint64_t into, std::uint64_t from) { return into | from; });
  return found;
}

Result<ValueSets> find_live_out(const Schedule& schedule, const std::vector<Block>& blocks) {
  TANDEM_CHECK_OK(check_size(schedule, blocks));
  const std::size_t values = schedule.values.size();
  ValueSets read_first{blocks.size(), values};
  ValueSets overwritten{blocks.size(), values};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const Step& step = schedule.steps[i];
      for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
        if (reads(mode) && !overwritten.has(b, value)) read_first.add(b, value);
      });
      for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
        if (mode == OpAccess::Write || mode == OpAccess::Alias) overwritten.add(b, value);
      });
    }
  }
  ValueSets live_out{blocks.size(), values};
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      for (const std::uint32_t next : blocks[b].next) {
        if (next == blocks.size()) {
          for (const std::uint32_t output : schedule.outputs) {
            const std::uint32_t value = schedule.source_of(output);
            changed = changed || !live_out.has(b, value);
            live_out.add(b, value);
          }
          continue;
        }
        for (std::size_t w = 0; w < live_out.words(); ++w) {
          const std::uint64_t live_in = read_first.row(next)[w] | (live_out.row(next)[w] & ~overwritten.row(next)[w]);
          const std::uint64_t merged = live_out.row(b)[w] | live_in;
          changed = changed || merged != live_out.row(b)[w];
          live_out.row(b)[w] = merged;
        }
      }
    }
  }
  return live_out;
}

}  // namespace tandem::runtime
