#pragma once

#include "device/graph.h"
#include "device/stream.h"
#include "device/timer.h"

#include <tandem/device.h>
#include <tandem/result.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace tandem::device {

class Device;

/// Owns a block of one device's memory.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(Device& device, std::span<std::byte> bytes, bool is_staging = false) noexcept
      : device_{&device}, bytes_{bytes}, is_staging_{is_staging} {}
  Buffer(Buffer&& other) noexcept
      : device_{std::exchange(other.device_, nullptr)},
        bytes_{std::exchange(other.bytes_, {})},
        is_staging_{other.is_staging_} {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_staging_, other.is_staging_);
    return *this;
  }
  ~Buffer();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

 private:
  Device* device_ = nullptr;
  std::span<std::byte> bytes_{};
  bool is_staging_ = false;
};

/// One processor with its memory.
///
/// Lifetime: a device outlives its streams and the methods on it; the real ones live as long as the process.
/// Thread-safety: every member may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual DeviceId id() const noexcept = 0;
  /// Whether the host reads and writes the device's memory as its own.
  [[nodiscard]] virtual bool is_host_accessible() const noexcept { return true; }
  /// Uninitialised, 64-byte aligned, never null, also for 0 bytes.
  /// Errors: OutOfMemory, with bytes and device.
  [[nodiscard]] virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  /// Host memory that the device's copies reach without help: page-locked where there is a difference.
  /// Errors: as allocate().
  [[nodiscard]] virtual Result<Buffer> allocate_staging(std::size_t bytes) { return allocate(bytes); }
  /// The calling thread's own stream.
  [[nodiscard]] virtual Stream& thread_stream() noexcept = 0;
  /// A further stream, independent of all others.
  /// Errors: OutOfMemory, also where the system has no further thread.
  [[nodiscard]] virtual Result<std::unique_ptr<Stream>> make_stream() = 0;
  /// Starts a graph. Errors: NotSupported, the device has none; OutOfMemory.
  [[nodiscard]] virtual Result<std::unique_ptr<GraphBuilder>> make_graph() {
    return Error{ErrorCode::NotSupported, "the device has no graphs"}.with_device(to_string(id()));
  }
  /// Errors: NotSupported, the device tells no times; OutOfMemory.
  [[nodiscard]] virtual Result<std::unique_ptr<Timer>> make_timer() {
    return Error{ErrorCode::NotSupported, "the device tells no times"}.with_device(to_string(id()));
  }
  /// `body()` with the device current for the calling thread, where there is such a thing: what the body calls need not
  /// switch to it and back each time.
  template <class Body>
  auto with_current(Body&& body) {
    return call(&Device::run_current, body);
  }
  /// The same, while the calling thread may be capturing in whatever mode: what the body allocates, loads and waits for
  /// does not break that.
  template <class Body>
  auto beside_a_capture(Body&& body) {
    return call(&Device::run_relaxed, body);
  }

 private:
  friend class Buffer;
  template <class Run, class Body>
  auto call(Run run, Body& body) {
    std::optional<decltype(body())> result;
    auto keep_result = [&result, &body] { result.emplace(body()); };
    (this->*run)([](void* data) { (*static_cast<decltype(keep_result)*>(data))(); }, &keep_result);
    return *std::move(result);
  }
  virtual void run_current(void (*body)(void* data), void* data) { body(data); }
  virtual void run_relaxed(void (*body)(void* data), void* data) { body(data); }
  virtual void free(std::byte* data) noexcept = 0;
  virtual void free_staging(std::byte* data) noexcept { free(data); }
};

inline Buffer::~Buffer() {
  if (device_ == nullptr) return;
  is_staging_ ? device_->free_staging(bytes_.data()) : device_->free(bytes_.data());
}

}  // namespace tandem::device
