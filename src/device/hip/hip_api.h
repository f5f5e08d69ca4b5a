#pragma once

#include "device/gpu/gpu_api.h"

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::device::hip {

/// HIP for the templates of device/gpu, as of 5.2. It numbers no streams and does not tell whose they are.
struct HipApi {
  using Code = hipError_t;
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Graph = hipGraph_t;
  struct Caller {
    int device = 0;
    bool is_switched = false;
  };
  using CaptureStatus = gpu::CaptureStatus;
  using CaptureMode = gpu::CaptureMode;

  static constexpr DeviceType kDeviceType = DeviceType::Hip;
  static constexpr Origin kOrigin = Origin::Hip;
  static constexpr Code kOk = hipSuccess;
  static constexpr Code kNotReady = hipErrorNotReady;

  static ErrorCode meaning(Code code) noexcept;
  static const char* error_name(Code code) noexcept { return hipGetErrorName(code); }
  static const char* error_text(Code code) noexcept { return hipGetErrorString(code); }
  static bool is_shutting_down(Code code) noexcept { return code == hipErrorDeinitialized; }
  static void clear_last_error() noexcept { static_cast<void>(hipGetLastError()); }

  static Code device_count(int* count) noexcept { return hipGetDeviceCount(count); }
  static Code current_device(int* device) noexcept { return hipGetDevice(device); }
  static Code enter(int device, Caller* caller) noexcept;
  static void leave(const Caller& caller) noexcept {
    if (caller.is_switched) static_cast<void>(hipSetDevice(caller.device));
  }
  static bool is_foreign(const Caller& /*caller*/) noexcept { return false; }

  static Code allocate(void** data, std::size_t bytes) noexcept { return hipMalloc(data, bytes); }
  static Code free(void* data) noexcept { return hipFree(data); }
  static Code allocate_pinned(void** data, std::size_t bytes) noexcept {
    return hipHostMalloc(data, bytes, hipHostMallocPortable);
  }
  static Code free_pinned(void* data) noexcept { return hipHostFree(data); }
  static Code copy(void* to, const void* from, std::size_t bytes, Stream stream) noexcept {
    return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
  }
  static Code fill(void* to, int value, std::size_t bytes, Stream stream) noexcept {
    return hipMemsetAsync(to, value, bytes, stream);
  }

  static Code stream_create(Stream* stream, int priority) noexcept {
    return hipStreamCreateWithPriority(stream, hipStreamNonBlocking, priority);
  }
  static Code stream_destroy(Stream stream) noexcept { return hipStreamDestroy(stream); }
  static Code stream_synchronize(Stream stream) noexcept { return hipStreamSynchronize(stream); }
  static Code stream_wait(Stream stream, Event event) noexcept { return hipStreamWaitEvent(stream, event, 0); }
  static Stream per_thread_stream() noexcept;
  static bool is_legacy(Stream stream) noexcept { return stream == nullptr; }

  static Code event_create(Event* event) noexcept { return hipEventCreateWithFlags(event, hipEventDisableTiming); }
  static Code event_destroy(Event event) noexcept { return hipEventDestroy(event); }
  static Code event_record(Event event, Stream stream) noexcept { return hipEventRecord(event, stream); }
  static Code event_query(Event event) noexcept { return hipEventQuery(event); }
  static Code event_synchronize(Event event) noexcept { return hipEventSynchronize(event); }

  static Code capture_begin(Stream stream, CaptureMode mode) noexcept;
  static Code capture_end(Stream stream, Graph* graph) noexcept { return hipStreamEndCapture(stream, graph); }
  static Code capture_status(Stream stream, CaptureStatus* status) noexcept;
  static Code exchange_capture_mode(CaptureMode* mode) noexcept;
  static Code graph_destroy(Graph graph) noexcept { return hipGraphDestroy(graph); }
};

static_assert(gpu::GpuApi<HipApi> && !gpu::HasStreamIds<HipApi> && !gpu::HasStreamOwner<HipApi>);

}  // namespace tandem::device::hip
