#pragma once

#include "device/device.h"
#include "runtime/schedule.h"

#include <tandem/result.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tandem::runtime {

/// Mutable values that several methods share, by their place in the shared arena.
///
/// Thread-safety: obtain() from any thread; a run that touches shared states holds run_mutex().
class StateStore {
 public:
  /// The memory at `offset`; made and initialised by the first who asks.
  /// Errors: OutOfMemory; InvalidProgram, another method plans another size there.
  [[nodiscard]] Result<std::shared_ptr<device::Buffer>> obtain(device::Device& device, std::uint64_t offset,
                                                               std::uint64_t bytes, std::span<const std::byte> initial);
  [[nodiscard]] std::mutex& run_mutex() noexcept { return run_mutex_; }

 private:
  std::mutex mutex_;
  std::mutex run_mutex_;
  std::map<std::uint64_t, std::shared_ptr<device::Buffer>> by_offset_;
};

/// New memory with the initial bytes, or zeros.
/// Errors: OutOfMemory.
[[nodiscard]] Result<std::shared_ptr<device::Buffer>> make_state(device::Device& device, std::uint64_t bytes,
                                                                 std::span<const std::byte> initial);

/// The states of one method, in the order of Schedule::states.
struct MethodStates {
  std::vector<std::shared_ptr<device::Buffer>> memory{};
  std::shared_ptr<StateStore> shared{};  ///< Set if any of them is shared.

  /// Errors: as StateStore::obtain().
  [[nodiscard]] static Result<MethodStates> create(const Schedule& schedule, device::Device& device,
                                                   std::shared_ptr<StateStore> store);
};

}  // namespace tandem::runtime
