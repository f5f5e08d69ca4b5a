#pragma once

#include <tandem/device.h>
#include <tandem/error.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tandem::device::gpu {

enum class CaptureStatus : std::uint8_t { None, Active, Invalidated };
/// What the calling thread's calls may do while streams capture.
enum class CaptureMode : std::uint8_t { Global, ThreadLocal, Relaxed };

/// What a pointer is to the driver.
enum class PointerPlace : std::uint8_t { Pageable, PinnedHost, Device, Managed };
struct PointerInfo {
  PointerPlace place = PointerPlace::Pageable;
  int device = 0;  ///< Of device and managed memory.
};

/// What the code for GPUs needs of a vendor: types, and functions that are `noexcept` and answer with a code. Nothing
/// above a vendor's `X_api.h` names a vendor's function.
///
/// `enter` makes a device current for the calling thread and notes in `Caller` what was current, `leave` restores
/// exactly that; `is_foreign` tells whether the caller has a context of that device that is not the one Tandem uses.
/// Every other function is called with its device current.
template <class Api>
concept GpuApi = requires(typename Api::Code code, typename Api::Stream stream, typename Api::Event event,
                          typename Api::Graph graph, typename Api::Caller caller, const typename Api::Caller entered,
                          typename Api::Stream* new_stream, typename Api::Event* new_event,
                          typename Api::Graph* new_graph, void* data, const void* from, void** new_data,
                          CaptureStatus* status, CaptureMode* mode, PointerInfo* info, int number, int* count) {
  requires std::same_as<const DeviceType, decltype(Api::kDeviceType)>;
  requires std::same_as<const Origin, decltype(Api::kOrigin)>;
  { Api::kOk } -> std::convertible_to<typename Api::Code>;
  { Api::kNotReady } -> std::convertible_to<typename Api::Code>;

  { Api::meaning(code) }
  noexcept->std::same_as<ErrorCode>;
  { Api::error_name(code) }
  noexcept->std::convertible_to<const char*>;
  { Api::error_text(code) }
  noexcept->std::convertible_to<const char*>;
  { Api::is_shutting_down(code) }
  noexcept->std::same_as<bool>;
  { Api::clear_last_error() }
  noexcept;

  { Api::device_count(count) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::current_device(count) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::enter(number, &caller) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::leave(entered) }
  noexcept;
  { Api::is_foreign(entered) }
  noexcept->std::same_as<bool>;

  { Api::allocate(new_data, std::size_t{}) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::free(data) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::allocate_pinned(new_data, std::size_t{}) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::free_pinned(data) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::copy(data, from, std::size_t{}, stream) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::fill(data, number, std::size_t{}, stream) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::pointer_info(from, info) }
  noexcept->std::same_as<typename Api::Code>;

  { Api::stream_create(new_stream, number) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::stream_destroy(stream) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::stream_synchronize(stream) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::stream_wait(stream, event) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::per_thread_stream() }
  noexcept->std::same_as<typename Api::Stream>;
  { Api::is_legacy(stream) }
  noexcept->std::same_as<bool>;

  { Api::event_create(new_event) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::event_destroy(event) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::event_record(event, stream) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::event_query(event) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::event_synchronize(event) }
  noexcept->std::same_as<typename Api::Code>;

  { Api::capture_begin(stream, CaptureMode{}) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::capture_end(stream, new_graph) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::capture_status(stream, status) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::exchange_capture_mode(mode) }
  noexcept->std::same_as<typename Api::Code>;
  { Api::graph_destroy(graph) }
  noexcept->std::same_as<typename Api::Code>;
};

/// Capability: the driver numbers streams, and no number comes back. Without it each Stream object has a number of its
/// own: two that borrow one handle then count as two streams, which costs waits that change nothing.
template <class Api>
concept HasStreamIds = requires(typename Api::Stream stream, std::uint64_t* id) {
  { Api::stream_id(stream, id) }
  noexcept->std::same_as<typename Api::Code>;
};

/// Capability: the driver tells whose a stream is. Without it, whoever borrows one is believed.
///
/// `is_foreign`: the stream belongs to a context whose memory is not that of the device's other users.
template <class Api>
concept HasStreamOwner = requires(typename Api::Stream stream, int* device, bool* is_foreign) {
  { Api::stream_owner(stream, device, is_foreign) }
  noexcept->std::same_as<typename Api::Code>;
};

}  // namespace tandem::device::gpu
