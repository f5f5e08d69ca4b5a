#pragma once

#include <tandem/device.h>
#include <tandem/event.h>
#include <tandem/export.h>
#include <tandem/result.h>

#include <cstddef>

namespace tandem {
namespace device {
class Stream;
}

/// Borrows a stream. Never null: there is no conversion from nullptr or 0, because a null handle means the legacy
/// stream to the GPU APIs and "nothing" to people.
///
/// Thread-safety: everything may be called from any thread; what several threads enqueue comes in some order.
class TANDEM_EXPORT StreamRef {
 public:
  explicit StreamRef(device::Stream& stream) noexcept : stream_{&stream} {}
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;
  [[nodiscard]] device::Stream& get() const noexcept { return *stream_; }

  [[nodiscard]] DeviceId device() const noexcept;
  /// An event at the point after everything enqueued so far. Errors: OutOfMemory; DeviceFault.
  [[nodiscard]] Result<Event> record() const;
  /// What is enqueued from now on runs after `event`. Blocks only on the host's per-thread stream, whose work is the
  /// calling thread's, and on a GPU's for an event that the host completes. An undefined event changes nothing.
  /// Errors: InvalidArgument, an event of another kind of device; DeviceFault.
  [[nodiscard]] Status wait(const Event& event) const;
  /// Blocks until everything enqueued so far is done.
  /// Errors: InvalidState, called by work on a stream, which must not wait; the first exception that left work which
  ///   Stream::submit() enqueued; DeviceFault.
  [[nodiscard]] Status synchronize() const;

 private:
  device::Stream* stream_;
};

}  // namespace tandem
