#include "runtime/state.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

void fill(device::Buffer& buffer, std::span<const std::byte> initial) noexcept {
  if (buffer.size() != 0) std::memset(buffer.data(), 0, buffer.size());
  if (!initial.empty()) std::memcpy(buffer.data(), initial.data(), initial.size());
}

Result<std::shared_ptr<device::Buffer>> make_buffer(device::Device& device, std::uint64_t bytes,
                                                    std::span<const std::byte> initial) {
  TANDEM_TRY(auto buffer, device.allocate(bytes));
  fill(buffer, initial);
  return std::make_shared<device::Buffer>(std::move(buffer));
}

}  // namespace

Result<std::shared_ptr<device::Buffer>> StateStore::obtain(device::Device& device, std::uint64_t offset,
                                                           std::uint64_t bytes, std::span<const std::byte> initial) {
  const std::scoped_lock lock{mutex_};
  std::shared_ptr<device::Buffer>& found = by_offset_[offset];
  if (found == nullptr) {
    TANDEM_TRY(found, make_buffer(device, bytes, initial));
  } else if (found->size() != bytes) {
    return Error{ErrorCode::InvalidProgram, "methods plan shared buffers of different sizes at the same place"}
        .with_expected(std::to_string(found->size()) + " bytes at offset " + std::to_string(offset),
                       std::to_string(bytes) + " bytes");
  }
  return found;
}

bool State::is_needed(const Schedule& schedule) noexcept {
  return !schedule.states.empty() || std::ranges::any_of(schedule.delegates, &DelegatePlan::stateful);
}

Result<std::shared_ptr<State>> State::create(std::shared_ptr<const Schedule> schedule, device::Device& device,
                                             const std::shared_ptr<StateStore>& store) {
  std::shared_ptr<State> state{new State{std::move(schedule)}};
  for (const StatePlan& plan : state->schedule().states) {
    const ValuePlan& value = state->schedule().values[plan.value];
    const bool shared = plan.shared && store != nullptr;
    Result<std::shared_ptr<device::Buffer>> memory =
        shared ? store->obtain(device, value.planned_offset, value.place.bytes, value.initial)
               : make_buffer(device, value.place.bytes, value.initial);
    if (!memory.ok()) {
      return std::move(memory)
          .error()
          .with_method(std::string{state->schedule().method})
          .with_value(static_cast<int>(plan.value))
          .with_key(std::string{value.name});
    }
    state->memory_.push_back(*std::move(memory));
    if (shared) state->order_ = store->order();
  }
  TANDEM_TRY(state->calls_, DelegateCalls::create(state->schedule(), true));
  return state;
}

Status State::reset() {
  const base::FairLock turn{order_->gate};
  TANDEM_CHECK_OK(order_->uses.synchronize());
  TANDEM_TRY(DelegateCalls fresh, DelegateCalls::create(*schedule_, true));
  calls_ = std::move(fresh);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    fill(*memory_[i], schedule_->values[schedule_->states[i].value].initial);
  }
  indeterminate_ = false;
  order_->indeterminate = false;
  return {};
}

void State::mark_indeterminate() noexcept {
  indeterminate_ = true;
  order_->indeterminate = true;
}

}  // namespace tandem::runtime
