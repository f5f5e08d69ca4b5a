#pragma once

#include "device/gpu/gpu_event.h"
#include "device/gpu/staging.h"
#include "device/stream.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace tandem::device::gpu {

/// A number that no other stream object has or had. The upper half of all numbers: drivers count from below.
inline std::uint64_t next_stream_number() noexcept {
  static std::atomic<std::uint64_t> last{std::uint64_t{1} << 63};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// A stream of a GPU: owned and non-blocking, borrowed from the caller, or the per-thread stream of one thread.
///
/// It runs no host work. Waiting for a held event blocks the calling thread until the event is signalled.
/// Lifetime: its device outlives it. An owned one waits for its work when it goes; a borrowed handle outlives the
///   object and is left alone.
template <GpuApi Api>
class GpuStream final : public Stream {
 public:
  using Handle = typename Api::Stream;
  enum class Kind : std::uint8_t { Owned, Borrowed, PerThread };

  GpuStream(Context<Api>& context, Staging<Api>& staging, Handle handle, Kind kind) noexcept
      : context_{context}, staging_{staging}, handle_{handle}, kind_{kind}, number_{number_of(context, handle)} {}
  ~GpuStream() override {
    if (kind_ != Kind::Owned) return;
    context_.close("a stream cannot be destroyed", [this] {
      const auto code = Api::stream_synchronize(handle_);
      const auto destroyed = Api::stream_destroy(handle_);
      return code != Api::kOk ? code : destroyed;
    });
  }

  [[nodiscard]] Handle handle() const noexcept { return handle_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] Context<Api>& context() const noexcept { return context_; }

  [[nodiscard]] StreamId id() const noexcept override { return {context_.id(), number_}; }

  [[nodiscard]] Status may_enqueue() const override {
    TANDEM_CHECK_OK(context_.usable());
    if (kind_ != Kind::PerThread) return {};
    if (thread_ != std::this_thread::get_id()) {
      return Error{ErrorCode::InvalidState, "the per-thread stream of another thread"}.with_device(
          to_string(context_.id()));
    }
    // The handle would mean another stream there than on this thread without that context.
    const DeviceScope<Api> scope{context_.index()};
    if (scope.code() == Api::kOk && scope.caller_is_foreign()) {
      return Error{ErrorCode::NotSupported, "the per-thread stream, while a green or foreign context is current"}
          .with_expected("a stream that was made for that context", "the per-thread stream")
          .with_device(to_string(context_.id()));
    }
    return {};
  }

  [[nodiscard]] Result<bool> is_capturing() const override {
    TANDEM_CHECK_OK(may_enqueue());
    TANDEM_TRY(const CaptureStatus status, capture_status());
    if (status != CaptureStatus::Invalidated) return status == CaptureStatus::Active;
    return Error{ErrorCode::InvalidState, "something broke the capture of the stream"}.with_device(
        to_string(context_.id()));
  }

  [[nodiscard]] Status submit(Work /*work*/, void* /*data*/, std::uint32_t /*index*/) override {
    return Error{ErrorCode::NotSupported, "a stream of a GPU runs no host work"}.with_device(to_string(context_.id()));
  }
  [[nodiscard]] Status launch_native(Launch enqueue, void* data) override {
    Status launched;
    TANDEM_CHECK_OK(context_.run("a launch cannot be made", [&] {
      launched = enqueue(data, opaque_handle());
      return Api::kOk;
    }));
    return launched;
  }
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override {
    TANDEM_CHECK_OK(may_enqueue());
    if (bytes == 0) return {};
    return context_.run("a copy cannot be enqueued",
                        [this, to, from, bytes] { return Api::copy(to, from, bytes, handle_); });
  }
  [[nodiscard]] Status upload(void* to, const void* from, std::size_t bytes) override {
    TANDEM_CHECK_OK(may_stage());
    return staging_.upload(handle_, to, from, bytes);
  }
  [[nodiscard]] Status download(void* to, const void* from, std::size_t bytes) override {
    TANDEM_CHECK_OK(may_stage());
    return staging_.download(handle_, to, from, bytes);
  }
  [[nodiscard]] Status fill(void* to, std::byte value, std::size_t bytes) override {
    TANDEM_CHECK_OK(may_enqueue());
    if (bytes == 0) return {};
    return context_.run("a fill cannot be enqueued", [this, to, value, bytes] {
      return Api::fill(to, std::to_integer<int>(value), bytes, handle_);
    });
  }
  [[nodiscard]] Status record(Event& event) override {
    if (event.device() != context_.id()) return foreign_event(to_string(context_.id()), event);
    TANDEM_CHECK_OK(may_enqueue());
    return static_cast<GpuEvent<Api>&>(event).record(handle_);
  }
  /// Events of every device of this kind will do.
  [[nodiscard]] Status wait(const Event& event) override {
    if (event.device().type != Api::kDeviceType) return foreign_event("a device of this kind", event);
    TANDEM_CHECK_OK(may_enqueue());
    const auto& on_gpu = static_cast<const GpuEvent<Api>&>(event);
    if (!on_gpu.is_recorded()) return on_gpu.synchronize();  // nothing that the stream could wait for
    return context_.run("a wait cannot be enqueued",
                        [this, &on_gpu] { return Api::stream_wait(handle_, on_gpu.handle()); });
  }
  [[nodiscard]] Status synchronize() override {
    TANDEM_CHECK_OK(may_enqueue());
    return context_.run_relaxed("a stream failed", [this] { return Api::stream_synchronize(handle_); });
  }
  [[nodiscard]] Result<tandem::Event> make_event() override { return GpuEvent<Api>::create(context_); }

  /// Whether it records into a graph. Errors: as Context::usable().
  [[nodiscard]] Result<CaptureStatus> capture_status() const {
    CaptureStatus status = CaptureStatus::None;
    TANDEM_CHECK_OK(context_.run("a stream does not tell whether it captures",
                                 [this, &status] { return Api::capture_status(handle_, &status); }));
    return status;
  }

 private:
  /// A graph would read and write the staging memory again long after it went to others.
  Status may_stage() const {
    TANDEM_TRY(const bool captures, is_capturing());
    if (!captures) return {};
    return Error{ErrorCode::InvalidState, "a copy through page-locked memory while the stream captures"}.with_device(
        to_string(context_.id()));
  }
  void* opaque_handle() const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return handle_;
    } else {
      return reinterpret_cast<void*>(std::uintptr_t{handle_});
    }
  }
  static std::uint64_t number_of(Context<Api>& context, Handle handle) noexcept {
    if constexpr (HasStreamIds<Api>) {
      std::uint64_t number = 0;
      if (context.run("a stream has no number", [handle, &number] { return Api::stream_id(handle, &number); }).ok()) {
        return number;
      }
    }
    return next_stream_number();
  }
  Error foreign_event(std::string expected, const Event& event) const {
    return Error{ErrorCode::InvalidArgument, "the event belongs to another device"}
        .with_expected(std::move(expected), to_string(event.device()))
        .with_device(to_string(context_.id()));
  }

  Context<Api>& context_;
  Staging<Api>& staging_;
  Handle handle_;
  Kind kind_;
  std::uint64_t number_;
  std::thread::id thread_ = std::this_thread::get_id();  ///< Of a per-thread stream.
};

}  // namespace tandem::device::gpu
