#pragma once

#include <tandem/device.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>

namespace tandem::device {

/// Which stream it is. Handles come back and are shared, so identity is the driver's number, never an address.
struct StreamId {
  DeviceId device{};
  std::uint64_t number = 0;
  friend bool operator==(const StreamId&, const StreamId&) = default;
};

/// A point in a stream that other streams and the host can wait for. Untimed.
///
/// Thread-safety: is_done() and synchronize() from any thread; recording needs outside locking.
class Event {
 public:
  virtual ~Event() = default;
  /// True for an event that was never recorded, as on CUDA.
  [[nodiscard]] virtual Result<bool> is_done() const = 0;
  /// Blocks until the recorded point has passed.
  [[nodiscard]] virtual Status synchronize() const = 0;
};

/// Work in order on one device.
///
/// Thread-safety: one thread at a time per stream.
class Stream {
 public:
  /// A piece of host work: `function(data, index)`.
  using Work = Status (*)(void* data, std::uint32_t index);

  virtual ~Stream() = default;
  [[nodiscard]] virtual StreamId id() const noexcept = 0;
  /// Runs `work` after everything before it. On an inline stream it has run when this returns, and its status is this
  /// call's; on others the status is the enqueueing's, and `data` stays valid until the stream has passed.
  [[nodiscard]] virtual Status submit(Work work, void* data, std::uint32_t index) = 0;
  /// Moves bytes in stream order; both ranges stay valid until the stream has passed.
  [[nodiscard]] virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Marks the point after everything so far. Errors: InvalidArgument, an event of another device.
  [[nodiscard]] virtual Status record(Event& event) = 0;
  /// Orders what follows after the event's recorded point. Errors: InvalidArgument, an event of another device.
  [[nodiscard]] virtual Status wait(const Event& event) = 0;
  /// Blocks until everything so far is done.
  [[nodiscard]] virtual Status synchronize() = 0;
};

}  // namespace tandem::device
