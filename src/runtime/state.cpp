#include "runtime/state.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

/// The initial bytes, then zeros. Blocks.
Status fill(device::Device& device, const StateMemory& memory, std::span<const std::byte> initial) {
  if (!memory.on_device) {
    if (memory.buffer.size() != 0) std::memset(memory.buffer.data(), 0, memory.buffer.size());
    if (!initial.empty()) std::memcpy(memory.buffer.data(), initial.data(), initial.size());
    return {};
  }
  device::Stream& stream = device.thread_stream();
  TANDEM_CHECK_OK(stream.fill(memory.buffer.data(), std::byte{0}, memory.buffer.size()));
  TANDEM_CHECK_OK(stream.copy(memory.buffer.data(), initial.data(), initial.size()));
  return stream.synchronize();
}

Result<std::shared_ptr<StateMemory>> make_memory(device::Device& device, bool on_device, std::uint64_t bytes,
                                                 std::span<const std::byte> initial) {
  auto memory = std::make_shared<StateMemory>();
  memory->on_device = on_device;
  TANDEM_TRY(memory->buffer, on_device ? device.allocate(bytes) : device.allocate_staging(bytes));
  TANDEM_CHECK_OK(fill(device, *memory, initial));
  return memory;
}

}  // namespace

Result<std::shared_ptr<StateMemory>> StateStore::obtain(device::Device& device, std::uint64_t offset,
                                                        std::uint64_t bytes, std::span<const std::byte> initial) {
  const std::scoped_lock lock{mutex_};
  std::shared_ptr<StateMemory>& found = by_offset_[offset];
  if (found == nullptr) {
    TANDEM_TRY(found, make_memory(device, false, bytes, initial));
  } else if (found->buffer.size() != bytes) {
    return Error{ErrorCode::InvalidProgram, "methods plan shared buffers of different sizes at the same place"}
        .with_expected(std::to_string(found->buffer.size()) + " bytes at offset " + std::to_string(offset),
                       std::to_string(bytes) + " bytes");
  }
  return found;
}

std::uint64_t State::next_generation() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool State::is_needed(const Schedule& schedule) noexcept {
  return !schedule.states.empty() || std::ranges::any_of(schedule.delegates, &DelegatePlan::stateful);
}

Result<std::shared_ptr<State>> State::create(std::shared_ptr<const Schedule> schedule, device::Device& device,
                                             const std::shared_ptr<StateStore>& store) {
  std::shared_ptr<State> state{new State{std::move(schedule), device}};
  for (const StatePlan& plan : state->schedule().states) {
    const ValuePlan& value = state->schedule().values[plan.value];
    const bool shared = plan.shared && store != nullptr;
    Result<std::shared_ptr<StateMemory>> memory =
        shared ? store->obtain(device, value.planned_offset, value.place.bytes, value.initial)
               : make_memory(device, value.device != DeviceId{}, value.place.bytes, value.initial);
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
  generation_ = next_generation();
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    TANDEM_CHECK_OK(fill(device_, *memory_[i], schedule_->values[schedule_->states[i].value].initial));
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
