#include "runtime/execute/slot_choice.h"

#include <algorithm>
#include <utility>

namespace tandem::runtime {
namespace {

bool is_on_device(const Schedule& schedule, std::uint32_t value) {
  return schedule.stored[value].is_tensor() && schedule.values[value].device == schedule.device;
}

bool has_foreign_memory(const Schedule& schedule) {
  const auto on_device = [&schedule](std::uint32_t value) { return is_on_device(schedule, value); };
  return std::ranges::any_of(schedule.inputs, on_device, &InputPlan::value) ||
         std::ranges::any_of(schedule.outputs, on_device);
}

}  // namespace

SlotChoice::SlotChoice(const Schedule& schedule, GraphPolicy policy, std::uint32_t max_graphs) noexcept
    : mode_{has_foreign_memory(schedule) ? Mode::InPlace : Mode::Never}, policy_{policy}, max_graphs_{max_graphs} {}

bool SlotChoice::begin_run(std::vector<TrialRun>& trials) {
  if (mode_ == Mode::Never) return false;
  if (mode_ == Mode::InPlace) {
    strange_ = std::exchange(saw_new_key_, false) && !is_familiar_ ? strange_ + 1 : 0;
    if (strange_ <= max_graphs_) return false;
    mode_ = Mode::Slots;
    strange_ = 0;
    familiar_ = 0;
    runs_ = 0;
    if (policy_ == GraphPolicy::Auto) trial_ = std::make_shared<Trial>(false);
  } else {
    // Sizes that never come back have no graph there either.
    strange_ = std::exchange(saw_new_key_, false) ? strange_ + 1 : 0;
    if (strange_ > max_graphs_) {
      mode_ = Mode::Never;
      return are_used_ = false;
    }
    familiar_ = is_familiar_ ? familiar_ + 1 : 0;
    if (familiar_ == familiar_wanted_) {
      mode_ = Mode::InPlace;
      strange_ = 0;
      familiar_wanted_ *= 4;
      return are_used_ = false;
    }
  }
  return are_used_ = choose(trials);
}

bool SlotChoice::choose(std::vector<TrialRun>& trials) {
  if (trial_ == nullptr || runs_ < kUntilGraph) {
    ++runs_;
    return true;
  }
  const Trial::Verdict verdict = trial_->verdict();
  if (verdict == Trial::Verdict::Open) {
    const Trial::Way way = trial_->next();
    trials.push_back({trial_, way});
    return way == Trial::Way::Graph;
  }
  if (verdict == Trial::Verdict::Steps) mode_ = Mode::Never;
  return verdict == Trial::Verdict::Graph;
}

/// Two of 2^64 may look alike: it takes longer to see that they are strange.
void SlotChoice::note_memory(std::span<const Value> inputs, std::span<const Tensor> outputs) noexcept {
  if (mode_ == Mode::Never) return;
  std::uint64_t print = 0xcbf29ce484222325;  // FNV-1a over words
  const auto add = [&print](const Tensor& tensor) {
    if (!tensor.defined() || tensor.device() == DeviceId{}) return;
    print = (print ^ reinterpret_cast<std::uintptr_t>(tensor.data())) * 0x100000001b3;
  };
  for (const Value& input : inputs) {
    if (input.is_tensor()) add(input.tensor());
  }
  for (const Tensor& output : outputs) add(output);
  is_familiar_ = std::ranges::find(recent_, print) != recent_.end();
  recent_[next_recent_++ % recent_.size()] = print;
}

}  // namespace tandem::runtime
