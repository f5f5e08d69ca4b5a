#pragma once

#include "device/event.h"

#include <tandem/device.h>
#include <tandem/event.h>
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

/// Work in order on one device.
///
/// Thread-safety: any thread; what several threads enqueue comes in some order.
class Stream {
 public:
  /// A piece of host work, `function(data, index)`. True asks to be called again: there is more.
  using Work = bool (*)(void* data, std::uint32_t index) noexcept;
  /// Code that enqueues by itself, `function(data, handle)`: the driver's handle of the stream, null on the host.
  using Launch = Status (*)(void* data, void* handle);

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Blocks until the stream's work is done.
  virtual ~Stream() = default;

  [[nodiscard]] virtual StreamId id() const noexcept = 0;
  /// Whether submit() runs the work itself, so that it is done when the call returns.
  [[nodiscard]] virtual bool is_inline() const noexcept { return false; }
  /// Whether work should ask to be called again after each of its steps, so that other streams' may come between.
  [[nodiscard]] virtual bool interleaves() const noexcept { return false; }
  /// Whether the calling thread may wait for this stream. Errors: InvalidState, it runs a stream's work.
  [[nodiscard]] virtual Status may_wait() const { return {}; }
  /// Whether the calling thread may enqueue here now; asked before anything is.
  /// Errors: InvalidState, the per-thread stream of another thread; NotSupported, the per-thread stream of a GPU while
  ///   a green context is current; DeviceFault.
  [[nodiscard]] virtual Status may_enqueue() const { return {}; }
  /// may_enqueue(), and whether what is enqueued here becomes a part of a graph instead of running.
  /// Errors: as may_enqueue(); InvalidState, it should and something broke the capture.
  [[nodiscard]] virtual Result<bool> is_capturing() const {
    TANDEM_CHECK_OK(may_enqueue());
    return false;
  }
  /// The stream for what a piece of this stream's work enqueues as a part of itself.
  [[nodiscard]] virtual Stream& within_work() noexcept { return *this; }
  /// Runs `work` after everything before it. `data` stays valid until the stream has passed.
  /// Errors: NotSupported, the stream runs no host work.
  [[nodiscard]] virtual Status submit(Work work, void* data, std::uint32_t index) = 0;
  /// Calls `enqueue` once, on the calling thread, with the stream's device current.
  /// Errors: DeviceFault; InvalidState, a forked child; what `enqueue` returns.
  [[nodiscard]] virtual Status launch_native(Launch enqueue, void* data) { return enqueue(data, nullptr); }
  /// Moves bytes in stream order; both ranges stay valid until the stream has passed. Where one is pageable host memory
  /// and the stream a GPU's, it may block: see upload() and download().
  [[nodiscard]] virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
  /// copy() from any host memory to the device's. A GPU goes through staging: `from` has been read when it returns.
  [[nodiscard]] virtual Status upload(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes); }
  /// copy() from the device's memory to any host memory. Blocks until the bytes are there on a GPU, which reaches
  /// pageable memory only with the host's help; to `Device::allocate_staging()` memory copy() does not.
  [[nodiscard]] virtual Status download(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes); }
  /// Sets every byte in stream order.
  [[nodiscard]] virtual Status fill(void* to, std::byte value, std::size_t bytes) = 0;
  /// Marks the point after everything so far. Errors: InvalidArgument, an event of another device.
  [[nodiscard]] virtual Status record(Event& event) = 0;
  /// Orders what follows after the point that the event marks now; recording it again changes nothing. An event that
  /// was never recorded orders nothing. Errors: InvalidArgument, an event of another kind of device.
  [[nodiscard]] virtual Status wait(const Event& event) = 0;
  /// Blocks until everything so far is done.
  /// Errors: InvalidState, called by work on a stream; the first failure that was reported since the last call.
  [[nodiscard]] virtual Status synchronize() = 0;
  /// Keeps a failure of host work for the next synchronize(); a good status changes nothing.
  virtual void report(Status status) noexcept { ignore(status, "a stream that runs no host work"); }
  /// An event of the stream's device that was not recorded yet. Errors: OutOfMemory.
  [[nodiscard]] virtual Result<tandem::Event> make_event() = 0;
};

}  // namespace tandem::device
