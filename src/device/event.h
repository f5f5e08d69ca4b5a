#pragma once

#include <tandem/device.h>
#include <tandem/error.h>
#include <tandem/result.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace tandem::device {

/// A point in a stream that other streams and the host can wait for. Untimed. Counted by the handles `tandem::Event`.
///
/// Thread-safety: is_done() and synchronize() from any thread; the others need outside locking, and an event is not
/// recorded again while anything else refers to it.
class Event {
 public:
  explicit Event(DeviceId device) noexcept : device_{device} {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  [[nodiscard]] DeviceId device() const noexcept { return device_; }
  /// True for an event that was never recorded, as on CUDA.
  [[nodiscard]] virtual Result<bool> is_done() const = 0;
  /// Blocks until the recorded point has passed.
  /// Errors: InvalidState, called by work on a stream.
  [[nodiscard]] virtual Status synchronize() const = 0;

  /// Makes the event a pending one that signal() completes, not a stream. A stream of a GPU cannot wait for it: the
  /// thread that tells it to does.
  virtual void hold() = 0;
  virtual void signal() noexcept = 0;

  /// What failed before the recorded point. Set before the point passes, read after.
  void set_failure(Error error) { failure_ = std::make_unique<Error>(std::move(error)); }
  void clear_failure() noexcept { failure_.reset(); }
  [[nodiscard]] const Error* failure() const noexcept { return failure_.get(); }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  /// Whether that was the last reference.
  [[nodiscard]] bool release() noexcept { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// Whether the caller's reference is the only one; what other threads did with theirs is then visible.
  [[nodiscard]] bool unique() const noexcept { return references_.load(std::memory_order_acquire) == 1; }

 private:
  DeviceId device_;
  std::atomic<std::uint32_t> references_{1};
  std::unique_ptr<Error> failure_{};
};

}  // namespace tandem::device
