#pragma once

#include "base/fair_gate.h"
#include "device/device.h"
#include "device/uses.h"
#include "runtime/schedule.h"
#include "runtime/state_memory.h"

#include <tandem/backend.h>
#include <tandem/result.h>
#include <tandem/shared_buffers.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::runtime {

class State;

/// Order of the executions that use the same mutable memory.
struct StateOrder {
  base::FairGate gate{};  ///< Held while an execution is enqueued.
  device::Uses uses{};
  std::atomic<bool> indeterminate{false};  ///< An execution failed after it may have changed the memory.
};

/// A mutable buffer as one method has it.

struct HeldBuffer {
  std::string method{};
  std::uint32_t delegate = kNone;        ///< kNone: the program plans it.
  std::vector<BufferTensor> tensors{};   ///< In it, as the method names them.
  std::optional<std::uint64_t> place{};  ///< In the arena that methods share.
  SharedBuffers rule{};                  ///< What is decided on its names.
  std::shared_ptr<StateMemory> memory{};
};

/// "decode:k_cache (delegate 0)": how messages name a buffer.
[[nodiscard]] std::string describe(const HeldBuffer& buffer);

/// The mutable buffers of a program's methods: those that are one for several methods, and who has which.
///
/// Thread-safety: any thread; the memory is guarded by order().
class StateStore {
 public:
  /// One that does not share only watches over methods whose buffers may be one, though each has its own.
  explicit StateStore(bool shares = true) noexcept : shares_{shares} {}

  /// Gives `buffer` its memory: that of an earlier buffer if both are one (of a name that is decided to be shared, or
  /// at one place of the shared arena), else new. `is_shared` tells whether other methods may get it.
  /// Errors: OutOfMemory; InvalidProgram, the two differ in dtype, sizes, strides or initial contents (names both);
  ///   NotSupported, one is in memory of the host and the other one of a device.
  [[nodiscard]] Result<bool> obtain(device::Device& device, StateMemory::Home home, std::size_t bytes,
                                    std::span<const std::byte> initial, HeldBuffer& buffer);
  [[nodiscard]] const std::shared_ptr<StateOrder>& order() const noexcept { return order_; }

  /// Remembers a state of a method, and links it to others with buffers of the same names that may be one or not. The
  /// log gets the names.
  void add(const std::shared_ptr<State>& state);
  /// When one of those has changed: the log gets a warning with all names, once.
  void warn_once();
  /// Names that several methods or delegates have buffers of, and nothing says whether these are one.
  [[nodiscard]] std::vector<std::string> undecided() const;

 private:
  [[nodiscard]] const HeldBuffer* find(const HeldBuffer& buffer) const;

  const bool shares_;
  mutable std::mutex mutex_;
  std::shared_ptr<StateOrder> order_ = std::make_shared<StateOrder>();
  std::map<std::string, std::shared_ptr<const HeldBuffer>, std::less<>> by_name_;
  std::map<std::uint64_t, std::shared_ptr<const HeldBuffer>> by_place_;
  std::vector<std::weak_ptr<State>> states_;
  std::vector<std::string> undecided_;
  bool has_warned_ = false;
};

}  // namespace tandem::runtime
