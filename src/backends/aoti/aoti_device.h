#pragma once

#include "backends/aoti/memory_source.h"
#include "backends/aoti/shim_table.h"

#include <tandem/recorder.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tandem::device {
class Stream;
}

namespace tandem::aoti {

struct AtenTensor;

/// What containers run on: a processor, its memory, and the functions that its libraries get.
///
/// A device that keeps something for a container (memory, modules) is an object per container, see for_container().
/// Calls in order (copy, copy_elements, clear, read) belong to the stream of begin().
///
/// Lifetime: outlives the container, its handles, and all memory that it gave.
/// Thread-safety: one container's calls at a time; for_container(), place() and release() from any thread.
class AotiDevice : public MemorySource {
 public:
  /// AOTInductor's word for it, "cpu" or "cuda:1".
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// Numbers of the ABI.
  [[nodiscard]] virtual std::int32_t aten_type() const noexcept = 0;
  [[nodiscard]] virtual std::int32_t aten_index() const noexcept = 0;
  [[nodiscard]] virtual const ShimTable& shims() const = 0;
  /// Whether a run is over when the library returns, so that its first run may be recorded as it comes.
  [[nodiscard]] virtual bool runs_on_host() const noexcept = 0;

  /// The device as one container sees it.
  [[nodiscard]] virtual Result<std::shared_ptr<AotiDevice>> for_container() = 0;
  /// `bytes` where the device reads them, 16-byte aligned: the very same, a copy, or what an earlier call made of the
  /// same bytes. Blocks.
  /// Lifetime: `bytes` outlive the result.
  [[nodiscard]] virtual Result<std::shared_ptr<std::byte>> place(std::span<const std::byte> bytes) = 0;
  /// Copies bytes of the host to the device. Blocks until it is done.
  [[nodiscard]] virtual Status upload(std::byte* to, std::span<const std::byte> from) = 0;

  /// What the library calls its stream when it runs on `stream`.
  [[nodiscard]] virtual void* native(device::Stream& stream) const noexcept = 0;
  /// Calls into the container follow, on `stream`; null: on a stream of the device's own. Nests; the outermost counts.
  virtual void begin(void* stream) noexcept = 0;
  virtual void end() noexcept = 0;
  /// Of the begin() in effect.
  [[nodiscard]] virtual void* stream() const noexcept = 0;
  /// Tells that a kernel since the last begin() may have overtaken the one before it, which in a captured graph nothing
  /// but the end of the whole piece waits for.
  [[nodiscard]] virtual bool has_overlap() const noexcept { return false; }
  /// What happens to what the container enqueues. Not for devices that run on the host.
  enum class Mode : std::uint8_t {
    Run,
    Record,   ///< Kernels go to the recorder; the rest is refused with NotSupported.
    Capture,  ///< The stream captures; what waits is refused with NotSupported.
  };
  /// Until the next call. `recorder` is null but for Record.
  virtual void set_mode(Mode mode, Recorder* recorder) noexcept = 0;
  /// Blocks until the device's own stream is done, and gives back memory that nobody uses.
  /// Errors: DeviceFault; others of the work on that stream.
  [[nodiscard]] virtual Status finish() = 0;
  /// The container is deleted: lets go of what it loaded.
  virtual void unload() noexcept = 0;

  /// As copy_elements() on the host. Null on success, else why it can't be done.
  [[nodiscard]] virtual const char* copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept = 0;
  /// Zeroes all bytes.
  [[nodiscard]] virtual bool clear(std::byte* data, std::size_t bytes) noexcept = 0;
  /// Brings bytes to the host, and waits for them. False if that failed.
  [[nodiscard]] virtual bool read(void* to, const std::byte* from, std::size_t bytes) noexcept = 0;
};

/// The host: one object for all containers.
[[nodiscard]] const std::shared_ptr<AotiDevice>& host_device();

/// A scope of begin() and end().
class DeviceCalls {
 public:
  explicit DeviceCalls(AotiDevice& device, void* stream = nullptr) noexcept : device_{device} { device_.begin(stream); }
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;
  ~DeviceCalls() { device_.end(); }

 private:
  AotiDevice& device_;
};

/// Gives memory back to where it is from.
struct ReleaseTo {
  MemorySource* source = nullptr;
  void operator()(std::byte* data) const noexcept { source->release(data); }
};
using DeviceBytes = std::unique_ptr<std::byte, ReleaseTo>;

/// Errors: OutOfMemory, naming bytes and device.
[[nodiscard]] Result<DeviceBytes> allocate(AotiDevice& device, std::size_t bytes);

}  // namespace tandem::aoti
