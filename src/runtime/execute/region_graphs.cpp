#include "runtime/execute/region_graphs.h"

#include "base/guarded.h"
#include "runtime/execute/eager.h"
#include "runtime/execute/region_parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::runtime {
namespace {

/// Runs at the same addresses before a graph of them is worth its making.
constexpr std::uint32_t kRunsBefore = 2;

std::int64_t word(const void* address) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
}

std::int64_t number_word(const Argument& argument) noexcept {
  std::int64_t bits = 0;
  switch (argument.kind) {
    case Argument::Kind::Int:
      return argument.integer;
    case Argument::Kind::Double:
      std::memcpy(&bits, &argument.number, sizeof bits);
      return bits;
    case Argument::Kind::Bool:
      return argument.flag ? 1 : 0;
    default:
      return 0;
  }
}

/// Whether an instance has it at one place, with one size, for good.
bool is_fixed(const Schedule& schedule, std::uint32_t value) {
  const Argument& stored = schedule.stored[value];
  const std::uint32_t buffer = schedule.values[value].place.buffer;
  if (!stored.is_tensor() || stored.tensor.resizable || buffer == kNone || schedule.values[value].reset) return false;
  const BufferPlan::Kind kind = schedule.buffers[buffer].kind;
  return kind == BufferPlan::Kind::Arena || kind == BufferPlan::Kind::Constant;
}

}  // namespace

RegionGraphs::RegionGraphs(Instance& instance, device::Device& device, GraphPolicy policy, std::uint32_t max_graphs)
    : instance_{instance},
      device_{device},
      policy_{policy},
      max_graphs_{max_graphs},
      slots_{instance.schedule(), policy, max_graphs},
      regions_(instance.schedule().regions.size()),
      is_captured_(instance.schedule().steps.size()) {
  const Schedule& schedule = instance.schedule();
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    for (const Region::Use& use : schedule.regions[r].uses) {
      if (!is_fixed(schedule, use.value)) regions_[r].keyed.push_back(use);
    }
  }
}

/// Everything that the recorded work depends on and that may differ from run to run.
void RegionGraphs::read_key(std::uint32_t region) {
  key_.clear();
  for (const Region::Use& use : regions_[region].keyed) {
    const Argument& value = instance_.value(use.value);
    if (!value.is_tensor()) {
      if (use.is_input) key_.push_back(number_word(value));
      continue;
    }
    key_.push_back(word(value.tensor.data));
    if (!use.is_input || !value.tensor.resizable) continue;
    key_.insert(key_.end(), value.tensor.sizes, value.tensor.sizes + value.tensor.rank);
    key_.insert(key_.end(), value.tensor.strides, value.tensor.strides + value.tensor.rank);
  }
  for (const device::Buffer& scratch : instance_.device_scratch()) key_.push_back(word(scratch.data()));
  const Region& plan = instance_.schedule().regions[region];
  if (plan.stateful) key_.push_back(static_cast<std::int64_t>(instance_.state_generation()));
  for (const Region::HostBuffer& one : plan.host_buffers) {
    const std::span<const std::byte> bytes = instance_.state()->memory_of(one.delegate)[one.buffer]->bytes();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::int64_t)) {
      std::int64_t piece = 0;
      std::memcpy(&piece, bytes.data() + at, std::min(sizeof piece, bytes.size() - at));
      key_.push_back(piece);
    }
  }
}

/// The region's buffers in the host's memory, one after the other.
std::vector<std::byte> RegionGraphs::host_bytes(const Region& region) const {
  std::vector<std::byte> all;
  for (const Region::HostBuffer& one : region.host_buffers) {
    const std::span<const std::byte> bytes = instance_.state()->memory_of(one.delegate)[one.buffer]->bytes();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void RegionGraphs::set_host_bytes(const Region& region, std::span<const std::byte> bytes) const noexcept {
  for (const Region::HostBuffer& one : region.host_buffers) {
    const std::span<std::byte> memory = instance_.state()->memory_of(one.delegate)[one.buffer]->bytes();
    std::ranges::copy(bytes.first(memory.size()), memory.begin());
    bytes = bytes.subspan(memory.size());
  }
}

/// Where the scratch of the device is now.
std::vector<const std::byte*> RegionGraphs::scratch() const {
  std::vector<const std::byte*> found;
  for (const device::Buffer& one : instance_.device_scratch()) found.push_back(one.data());
  return found;
}

/// The entry of the key, a new one if there is none; the one that was used longest ago goes.
RegionGraphs::Entry& RegionGraphs::find(Entries& entries) {
  ++uses_;
  if (entries.last == nullptr || entries.last->key != key_) {
    const auto key_of = [](const auto& entry) -> const auto& { return entry->key; };
    const auto found = std::ranges::find(entries.all, key_, key_of);
    if (found != entries.all.end()) {
      entries.last = found->get();
    } else {
      if (entries.all.size() >= max_graphs_) {
        entries.all.erase(std::ranges::min_element(entries.all, {}, [](const auto& entry) { return entry->last_use; }));
      }
      slots_.note_new_key();
      auto entry = std::make_unique<Entry>();
      entry->key = key_;
      entries.last = entries.all.emplace_back(std::move(entry)).get();
    }
  }
  entries.last->last_use = uses_;
  return *entries.last;
}

Result<bool> RegionGraphs::run(std::uint32_t region, device::Stream& stream, std::vector<TrialRun>& trials) {
  if (slots_.are_passed_over()) return false;
  read_key(region);
  Entry& entry = find(regions_[region]);
  if (entry.graph() == nullptr) {
    if (!entry.refusal.empty() || entry.runs++ < kRunsBefore) return false;
    if (const Status built = build(region, entry, stream); !built.ok()) {
      entry.refusal = built.error().to_string();
      return false;
    }
  }
  device::Graph* const graph = choose_graph(entry, trials);
  if (graph == nullptr) return false;
  if (Status launched = graph->launch(stream); !launched.ok()) {
    const Schedule& schedule = instance_.schedule();
    return std::move(launched).error().with_site(site_of(schedule, schedule.steps[schedule.regions[region].first]));
  }
  apply_outcomes(instance_.schedule().regions[region], entry);
  return true;
}

/// The entry's graph that is to run; null: step by step.
device::Graph* RegionGraphs::choose_graph(Entry& entry, std::vector<TrialRun>& trials) {
  if (entry.trial == nullptr) return entry.graph();
  Trial::Verdict chosen = entry.trial->verdict();
  if (chosen == Trial::Verdict::Open) {
    const Trial::Way way = entry.trial->next();
    trials.push_back({entry.trial, way});
    chosen = static_cast<Trial::Verdict>(way);
  } else if (chosen == Trial::Verdict::Branches) {
    entry.in_a_row.reset();
  } else {
    entry.side_by_side.reset();
  }
  if (chosen == Trial::Verdict::Steps) return nullptr;
  return chosen == Trial::Verdict::Graph ? entry.in_a_row.get() : entry.side_by_side.get();
}

Status RegionGraphs::build(std::uint32_t index, Entry& entry, device::Stream& stream) {
  const Region& region = instance_.schedule().regions[index];
  // With slots, the choice between them and steps at the caller's addresses is the trial.
  const bool is_on_trial = policy_ == GraphPolicy::Auto && !slots_.are_used();
  const bool may_branch = region.branches > 1 && (is_on_trial || policy_ == GraphPolicy::Branches);
  // Delegates that never ran may want more scratch than there is, and those before them were recorded with the old one.
  for (std::vector<const std::byte*> before; entry.graph() == nullptr || scratch() != before;) {
    before = scratch();
    if (policy_ != GraphPolicy::Branches || !may_branch) {
      TANDEM_TRY(entry.in_a_row, make(region, false, stream));
    }
    if (may_branch) {
      TANDEM_TRY(entry.side_by_side, make(region, true, stream));
    }
  }
  read_key(index);
  entry.key = key_;
  entry.host_bytes = host_after_;
  note_outcomes(region, entry);
  if (is_on_trial) entry.trial = std::make_shared<Trial>(may_branch);
  return {};
}

Status RegionGraphs::prepare(device::Stream& stream) {
  std::vector<std::vector<std::byte>> host_before;
  for (const Region& region : instance_.schedule().regions) host_before.push_back(host_bytes(region));
  const auto restore = [&] {
    for (std::size_t r = 0; r < host_before.size(); ++r) {
      set_host_bytes(instance_.schedule().regions[r], host_before[r]);
    }
  };
  // A region may want more scratch than those before it were prepared with.
  for (;;) {
    const auto before = scratch();
    Status prepared = prepare_all(stream);
    restore();
    if (!prepared.ok() || scratch() == before) return prepared;
  }
}

Status RegionGraphs::prepare_all(device::Stream& stream) {
  const Schedule& schedule = instance_.schedule();
  std::uint32_t next = 0;
  for (std::uint32_t step = 0; step < schedule.steps.size(); ++step) {
    if (next < schedule.regions.size() && schedule.regions[next].first == step) {
      read_key(next);
      Entry& entry = find(regions_[next]);
      if (entry.graph() == nullptr) TANDEM_CHECK_OK(build(next, entry, stream));
      set_host_bytes(schedule.regions[next], entry.host_bytes);  // what the regions that follow find
      step = schedule.regions[next++].end - 1;
    } else if (schedule.steps[step].kind == Step::Kind::Copy) {
      TANDEM_CHECK_OK(take_copied_sizes(instance_, step));
    }
  }
  return {};
}

Result<std::vector<std::unique_ptr<device::GraphBuilder>>> RegionGraphs::record_all(device::Stream& stream) {
  const Schedule& schedule = instance_.schedule();
  std::vector<std::unique_ptr<device::GraphBuilder>> builders;
  // Scratch that grows makes what was recorded before worthless.
  for (std::vector<const std::byte*> before; builders.empty() || scratch() != before;) {
    before = scratch();
    builders.clear();
    std::size_t next = 0;
    for (std::uint32_t step = 0; step < schedule.steps.size();) {
      if (next == schedule.regions.size() || schedule.regions[next].first != step) {
        TANDEM_CHECK_OK(run_step(instance_, StreamRef{stream}, step));
        continue;
      }
      const Region& region = schedule.regions[next++];
      TANDEM_TRY(auto recorded, record(region, policy_ == GraphPolicy::Branches && region.branches > 1, stream));
      builders.push_back(std::move(recorded));
      step = region.end;
    }
    if (builders.empty()) break;
  }
  return builders;
}

Result<std::unique_ptr<device::Graph>> RegionGraphs::make(const Region& region, bool side_by_side,
                                                          device::Stream& stream) {
  TANDEM_TRY(const auto builder, record(region, side_by_side, stream));
  return builder->finish(stream);
}

/// Recorded steps change the host's memory as a run does. It is put back, and what they left is kept.
Result<std::unique_ptr<device::GraphBuilder>> RegionGraphs::record(const Region& region, bool side_by_side,
                                                                   device::Stream& stream) {
  const std::vector<std::byte> before = host_bytes(region);
  auto recorded = record_steps(region, side_by_side, before, stream);
  host_after_ = host_bytes(region);
  set_host_bytes(region, before);
  return recorded;
}

Result<std::unique_ptr<device::GraphBuilder>> RegionGraphs::record_steps(const Region& region, bool side_by_side,
                                                                         std::span<const std::byte> host_before,
                                                                         device::Stream& stream) {
  const Schedule& schedule = instance_.schedule();
  const RegionParts parts{schedule, region, side_by_side};
  TANDEM_TRY(std::unique_ptr<device::GraphBuilder> builder, device_.make_graph());
  for (std::uint32_t step = region.first; step < region.end;) {
    builder->begin_part(parts.after(step));
    if (Status recorded = record_step(step, *builder, stream); recorded.ok()) {
      ++step;
    } else if (is_captured_[step] || schedule.steps[step].kind != Step::Kind::Delegate ||
               !schedule.delegates[schedule.steps[step].target].capturable) {
      return std::move(recorded).error();
    } else {
      // A part of it may have been recorded: from the start, and this one captured.
      is_captured_[step] = true;
      set_host_bytes(region, host_before);
      TANDEM_TRY(builder, device_.make_graph());
      step = region.first;
    }
  }
  TANDEM_TRY(const device::GraphEdges edges, builder->edges());
  TANDEM_CHECK_OK(parts.check(edges));
  return builder;
}

Status RegionGraphs::record_step(std::uint32_t step, device::GraphBuilder& builder, device::Stream& stream) {
  const Schedule& schedule = instance_.schedule();
  const Step& plan = schedule.steps[step];
  const bool is_recordable = plan.kind != Step::Kind::Delegate || schedule.delegates[plan.target].recordable;
  if (is_recordable && !is_captured_[step]) {
    return runtime::record_step(instance_, StreamRef{stream}, builder, false, step);
  }
  is_captured_[step] = true;
  return builder.capture([&](device::Stream& capturing) {
    return runtime::record_step(instance_, StreamRef{capturing}, builder, true, step);
  });
}

/// Sizes and numbers that the steps found out: a graph does not.
void RegionGraphs::note_outcomes(const Region& region, Entry& entry) {
  for (const Region::Use& use : region.uses) {
    const Argument& value = instance_.value(use.value);
    if (use.is_input || (value.is_tensor() && !value.tensor.resizable)) continue;
    Outcome& outcome = entry.outcomes.emplace_back();
    outcome.value = use.value;
    outcome.argument = value;
    if (!value.is_tensor()) continue;
    outcome.sizes.assign(value.tensor.sizes, value.tensor.sizes + value.tensor.rank);
    outcome.strides.assign(value.tensor.strides, value.tensor.strides + value.tensor.rank);
  }
}

void RegionGraphs::apply_outcomes(const Region& region, const Entry& entry) {
  set_host_bytes(region, entry.host_bytes);
  for (const Outcome& outcome : entry.outcomes) {
    Argument& value = instance_.value(outcome.value);
    if (value.is_tensor()) {
      std::ranges::copy(outcome.sizes, value.tensor.sizes);
      std::ranges::copy(outcome.strides, value.tensor.strides);
    } else {
      value = outcome.argument;
    }
  }
}

bool RegionGraphs::are_on_trial() const noexcept {
  const auto is_open = [](const Entries& entries) {
    return entries.last != nullptr && entries.last->trial != nullptr &&
           entries.last->trial->verdict() == Trial::Verdict::Open;
  };
  return slots_.are_on_trial() || std::ranges::any_of(regions_, is_open);
}

std::vector<GraphInfo> RegionGraphs::describe() const {
  const Schedule& schedule = instance_.schedule();
  std::vector<GraphInfo> infos;
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    GraphInfo& info = infos.emplace_back();
    info.first_instruction = schedule.steps[schedule.regions[r].first].instruction;
    info.last_instruction = schedule.steps[schedule.regions[r].end - 1].instruction;
    const Entry* const entry = regions_[r].last;
    if (entry == nullptr) continue;
    info.graphs = static_cast<std::size_t>(
        std::ranges::count_if(regions_[r].all, [](const auto& one) { return one->graph() != nullptr; }));
    info.refusal = entry->refusal;
    if (entry->graph() == nullptr) continue;
    info.nodes = entry->graph()->node_count();
    info.branches = entry->in_a_row == nullptr ? schedule.regions[r].branches : 1;
    info.in_use = true;
    if (entry->trial == nullptr) continue;
    const Trial::Verdict verdict = entry->trial->verdict();
    info.in_use = verdict == Trial::Verdict::Graph || verdict == Trial::Verdict::Branches;
    info.branches_time = entry->trial->median(Trial::Way::Branches);
    info.steps_time = entry->trial->median(Trial::Way::Steps);
    info.graph_time = entry->trial->median(Trial::Way::Graph);
  }
  return infos;
}

}  // namespace tandem::runtime
