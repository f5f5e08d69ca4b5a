#pragma once

#include <tandem/device.h>
#include <tandem/event.h>
#include <tandem/export.h>
#include <tandem/result.h>
#include <tandem/stream_ref.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace tandem {
namespace device {
class Device;
}

/// Owns a stream: work in order, next to the work of other streams.
///
/// A stream of the host device is a queue with a thread of its own, one of a GPU the driver's.
/// Lifetime: the destructor waits for the work that is enqueued, unless the stream is borrowed (tandem/cuda.h).
/// Thread-safety: everything may be called from any thread; what several threads enqueue comes in some order.
class TANDEM_EXPORT Stream {
 public:
  /// Errors: NotSupported, this build has no such device; OutOfMemory (no further thread either).
  [[nodiscard]] static Result<Stream> create(DeviceId device = {});
  /// Takes over `impl`.
  explicit Stream(std::unique_ptr<device::Stream> impl) noexcept;
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  [[nodiscard]] StreamRef ref() const noexcept { return StreamRef{*impl_}; }
  operator StreamRef() const noexcept { return ref(); }  // NOLINT(google-explicit-constructor): a view of the owner
  [[nodiscard]] Result<Event> record() const { return ref().record(); }
  [[nodiscard]] Status wait(const Event& event) const { return ref().wait(event); }
  [[nodiscard]] Status synchronize() const { return ref().synchronize(); }
  /// Enqueues work of the caller's own. It must not wait for streams or events, as CUDA's host functions must not.
  /// An exception that leaves it is the error of the next synchronize().
  /// Errors: NotSupported, a stream of a GPU; OutOfMemory.
  [[nodiscard]] Status submit(std::function<void()> work) const;

 private:
  std::unique_ptr<device::Stream> impl_;
};

/// Executions on this thread run on `stream` until the guard goes, unless their options name another. Nests.
///
/// Lifetime: the stream outlives the guard. Guards of one thread go in the reverse of their order.
class TANDEM_EXPORT CallerStreamGuard {
 public:
  explicit CallerStreamGuard(StreamRef stream) noexcept;
  CallerStreamGuard(const CallerStreamGuard&) = delete;
  CallerStreamGuard& operator=(const CallerStreamGuard&) = delete;
  ~CallerStreamGuard();

  /// Of the calling thread.
  [[nodiscard]] static std::optional<StreamRef> current() noexcept;

 private:
  device::Stream* outer_;
};

/// Host streams whose work one thread runs in an order that a seed picks: each seed is one legal interleaving of what
/// is enqueued, the same every time. Finds order bugs without threads or luck.
///
/// Work runs while somebody waits: in synchronize() and is_done() of an event or stream.
/// Lifetime: methods and streams that were made with it share it.
/// Thread-safety: everything may be called from any thread; work runs on one at a time.
class TANDEM_EXPORT SeededScheduler {
 public:
  explicit SeededScheduler(std::uint64_t seed);
  ~SeededScheduler();
  SeededScheduler(const SeededScheduler&) = delete;
  SeededScheduler& operator=(const SeededScheduler&) = delete;

  /// Starts the sequence of `seed`: what is enqueued from now on interleaves as after construction with it.
  void reseed(std::uint64_t seed);
  [[nodiscard]] Stream make_stream();

  /// The device that methods use; defined in src/device.
  [[nodiscard]] device::Device& device() const noexcept;

 private:
  std::unique_ptr<device::Device> device_;
};

}  // namespace tandem
