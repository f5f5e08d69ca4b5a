#include "runtime/state.h"

#include <cstring>
#include <string>
#include <utility>

namespace tandem::runtime {

Result<std::shared_ptr<device::Buffer>> make_state(device::Device& device, std::uint64_t bytes,
                                                   std::span<const std::byte> initial) {
  TANDEM_TRY(auto buffer, device.allocate(bytes));
  if (bytes != 0) std::memset(buffer.data(), 0, bytes);
  if (!initial.empty()) std::memcpy(buffer.data(), initial.data(), initial.size());
  return std::make_shared<device::Buffer>(std::move(buffer));
}

Result<std::shared_ptr<device::Buffer>> StateStore::obtain(device::Device& device, std::uint64_t offset,
                                                           std::uint64_t bytes, std::span<const std::byte> initial) {
  const std::scoped_lock lock{mutex_};
  std::shared_ptr<device::Buffer>& found = by_offset_[offset];
  if (found == nullptr) {
    TANDEM_TRY(found, make_state(device, bytes, initial));
  } else if (found->size() != bytes) {
    return Error{ErrorCode::InvalidProgram, "methods plan shared buffers of different sizes at the same place"}
        .with_expected(std::to_string(found->size()) + " bytes at offset " + std::to_string(offset),
                       std::to_string(bytes) + " bytes");
  }
  return found;
}

Result<MethodStates> MethodStates::create(const Schedule& schedule, device::Device& device,
                                          std::shared_ptr<StateStore> store) {
  MethodStates states;
  for (const StatePlan& plan : schedule.states) {
    const ValuePlan& value = schedule.values[plan.value];
    const bool shared = plan.shared && store != nullptr;
    Result<std::shared_ptr<device::Buffer>> memory =
        shared ? store->obtain(device, value.planned_offset, value.place.bytes, value.initial)
               : make_state(device, value.place.bytes, value.initial);
    if (!memory.ok()) {
      return std::move(memory)
          .error()
          .with_method(std::string{schedule.method})
          .with_value(static_cast<int>(plan.value))
          .with_key(std::string{value.name});
    }
    states.memory.push_back(*std::move(memory));
    if (shared) states.shared = store;
  }
  return states;
}

}  // namespace tandem::runtime
