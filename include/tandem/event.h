#pragma once

#include <tandem/export.h>
#include <tandem/result.h>

namespace tandem {
namespace device {
class Event;
}

/// A point in the order of a stream: a cheap handle, copies name the same point.
///
/// Lifetime: may outlive the stream, the method and the device's other objects.
/// Thread-safety: everything may be called from any thread.
class TANDEM_EXPORT Event {
 public:
  Event() noexcept = default;  ///< Undefined: defined() is false.
  /// Takes over one reference of `impl`.
  explicit Event(device::Event* impl) noexcept : impl_{impl} {}
  Event(const Event& other) noexcept;
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  [[nodiscard]] bool defined() const noexcept { return impl_ != nullptr; }
  /// Whether the point has passed; a failed execution's has passed too. True if undefined.
  /// Errors: DeviceFault.
  [[nodiscard]] Result<bool> is_done() const;
  /// Blocks until the point has passed.
  /// Errors: the error of the execution whose `done` it is; InvalidState, called by work on a stream, which must not
  ///   wait; DeviceFault.
  [[nodiscard]] Status synchronize() const;

  [[nodiscard]] device::Event* impl() const noexcept { return impl_; }

 private:
  device::Event* impl_ = nullptr;
};

}  // namespace tandem
