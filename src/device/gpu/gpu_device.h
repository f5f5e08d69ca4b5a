#pragma once

#include "device/device.h"
#include "device/gpu/gpu_graph.h"
#include "device/gpu/gpu_stream.h"
#include "device/gpu/gpu_timer.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tandem::device::gpu {

/// One GPU. Whatever it does, it does with the GPU current, and restores what the calling thread had.
template <GpuApi Api>
class GpuDevice final : public Device {
 public:
  explicit GpuDevice(int index) : context_{index}, staging_{context_} {}

  [[nodiscard]] Context<Api>& context() noexcept { return context_; }
  [[nodiscard]] DeviceId id() const noexcept override { return context_.id(); }
  [[nodiscard]] bool is_host_accessible() const noexcept override { return false; }

  [[nodiscard]] Result<Buffer> allocate(std::size_t bytes) override {
    TANDEM_TRY(std::byte* const data, allocate_with(bytes, "the device's memory", &Api::allocate));
    return Buffer{*this, {data, bytes}};
  }
  [[nodiscard]] Result<Buffer> allocate_staging(std::size_t bytes) override {
    TANDEM_TRY(std::byte* const data, allocate_with(bytes, "page-locked memory", &Api::allocate_pinned));
    return Buffer{*this, {data, bytes}, /*is_staging=*/true};
  }

  [[nodiscard]] Stream& thread_stream() noexcept override {
    // They own nothing of the driver's, so they may go when their thread does.
    thread_local std::vector<std::pair<std::uint64_t, std::unique_ptr<GpuStream<Api>>>> streams;
    const auto mine = std::ranges::find(streams, number_, &decltype(streams)::value_type::first);
    if (mine != streams.end()) return *mine->second;
    return *streams.emplace_back(number_, borrowed(Api::per_thread_stream(), Kind::PerThread)).second;
  }
  [[nodiscard]] Result<std::unique_ptr<Stream>> make_stream() override { return make_stream(0); }
  /// Units: the driver's; lower numbers go first, 0 is usual.
  [[nodiscard]] Result<std::unique_ptr<Stream>> make_stream(int priority) {
    typename Api::Stream handle{};
    TANDEM_CHECK_OK(
        context_.run_relaxed("a stream cannot be made", [&] { return Api::stream_create(&handle, priority); }));
    return std::unique_ptr<Stream>{borrowed(handle, Kind::Owned)};
  }
  [[nodiscard]] Result<std::unique_ptr<GraphBuilder>> make_graph() override {
    if constexpr (HasGraphs<Api>) {
      return GpuGraphBuilder<Api>::create(context_, staging_);
    } else {
      return Device::make_graph();
    }
  }
  [[nodiscard]] Result<std::unique_ptr<Timer>> make_timer() override {
    if constexpr (HasTimedEvents<Api>) {
      return GpuTimer<Api>::create(context_);
    } else {
      return Device::make_timer();
    }
  }
  /// A stream of the caller's, a green context's too. The per-thread handle means the calling thread's.
  /// Errors: InvalidArgument, the legacy stream, a stream of another device or of a foreign context.
  [[nodiscard]] Result<std::unique_ptr<Stream>> borrow(typename Api::Stream handle) {
    if (Api::is_legacy(handle)) {
      return Error{ErrorCode::InvalidArgument, "the legacy stream waits for all others"}
          .with_expected("a stream of the caller's or the per-thread stream", "the legacy stream")
          .with_device(to_string(id()));
    }
    TANDEM_CHECK_OK(context_.usable());
    if (handle == Api::per_thread_stream()) return std::unique_ptr<Stream>{borrowed(handle, Kind::PerThread)};
    if constexpr (HasStreamOwner<Api>) {
      int owner = -1;
      bool is_foreign = false;
      TANDEM_CHECK_OK(context_.run("not a stream", [&] { return Api::stream_owner(handle, &owner, &is_foreign); }));
      if (owner != context_.index() || is_foreign) {
        return Error{ErrorCode::InvalidArgument, "the stream belongs to another device or context"}
            .with_expected(to_string(id()), is_foreign
                                                ? "a context of its own"
                                                : to_string({Api::kDeviceType, static_cast<std::int16_t>(owner)}))
            .with_device(to_string(id()));
      }
    }
    return std::unique_ptr<Stream>{borrowed(handle, Kind::Borrowed)};
  }

 private:
  using Kind = typename GpuStream<Api>::Kind;

  /// What the body does reports a device that cannot be made current.
  void run_current(void (*body)(void* data), void* data) override {
    const DeviceScope<Api> scope{context_.index()};
    body(data);
  }
  void run_relaxed(void (*body)(void* data), void* data) override {
    const DeviceScope<Api> scope{context_.index()};
    const RelaxedScope<Api> relaxed;
    body(data);
  }

  std::unique_ptr<GpuStream<Api>> borrowed(typename Api::Stream handle, Kind kind) {
    return std::make_unique<GpuStream<Api>>(context_, staging_, handle, kind);
  }
  template <class Allocate>
  Result<std::byte*> allocate_with(std::size_t bytes, const char* what, Allocate* allocate_bytes) {
    void* data = nullptr;
    const std::size_t asked = std::max<std::size_t>(bytes, 1);  // drivers give null for 0 bytes
    typename Api::Code code = Api::kOk;
    TANDEM_CHECK_OK(context_.run_relaxed("memory cannot be had", [&] {
      code = allocate_bytes(&data, asked);
      return Api::kOk;
    }));
    if (code != Api::kOk) return context_.failed(code, std::to_string(bytes) + " bytes of " + what + " cannot be had");
    return static_cast<std::byte*>(data);
  }
  void free(std::byte* data) noexcept override {
    context_.close("memory of the device cannot be freed", [data] { return Api::free(data); });
  }
  void free_staging(std::byte* data) noexcept override {
    context_.close("page-locked memory cannot be freed", [data] { return Api::free_pinned(data); });
  }
  static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t number_ = next_number();  ///< Of this object: threads keep their streams by it.
  Context<Api> context_;
  Staging<Api> staging_;
};

}  // namespace tandem::device::gpu
