#pragma once

#include "device/gpu/gpu_api.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::device::cuda {

/// What a pointer is to the driver.
enum class PointerPlace : std::uint8_t { Pageable, PinnedHost, Device, Managed };
struct PointerInfo {
  PointerPlace place = PointerPlace::Pageable;
  int device = 0;  ///< Of device and managed memory.
};

/// CUDA for the templates of device/gpu. The runtime is linked statically; the driver is looked for at run time, so
/// that this runs on machines without one and finds no device there.
struct CudaApi {
  using Code = cudaError_t;
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  using Graph = cudaGraph_t;
  using GraphNode = cudaGraphNode_t;
  using GraphExec = cudaGraphExec_t;
  /// The runtime's own notion of a current device cannot be restored without making a context on it, so contexts are
  /// switched through the driver.
  struct Caller {
    CUcontext context = nullptr;
    bool is_switched = false;
    bool is_foreign = false;
  };
  using CaptureStatus = gpu::CaptureStatus;
  using CaptureMode = gpu::CaptureMode;

  static constexpr DeviceType kDeviceType = DeviceType::Cuda;
  static constexpr Origin kOrigin = Origin::Cuda;
  static constexpr Code kOk = cudaSuccess;
  static constexpr Code kNotReady = cudaErrorNotReady;

  static ErrorCode meaning(Code code) noexcept;
  static const char* error_name(Code code) noexcept { return cudaGetErrorName(code); }
  static const char* error_text(Code code) noexcept { return cudaGetErrorString(code); }
  static bool is_shutting_down(Code code) noexcept { return code == cudaErrorCudartUnloading; }
  static void clear_last_error() noexcept { static_cast<void>(cudaGetLastError()); }

  static Code device_count(int* count) noexcept { return cudaGetDeviceCount(count); }
  static Code current_device(int* device) noexcept;
  static Code enter(int device, Caller* caller) noexcept;
  static void leave(const Caller& caller) noexcept;
  static bool is_foreign(const Caller& caller) noexcept { return caller.is_foreign; }

  static Code allocate(void** data, std::size_t bytes) noexcept { return cudaMalloc(data, bytes); }
  static Code free(void* data) noexcept { return cudaFree(data); }
  static Code allocate_pinned(void** data, std::size_t bytes) noexcept {
    return cudaHostAlloc(data, bytes, cudaHostAllocPortable);
  }
  static Code free_pinned(void* data) noexcept { return cudaFreeHost(data); }
  static Code copy(void* to, const void* from, std::size_t bytes, Stream stream) noexcept {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  }
  static Code fill(void* to, int value, std::size_t bytes, Stream stream) noexcept {
    return cudaMemsetAsync(to, value, bytes, stream);
  }
  /// Needs no current device.
  static Code pointer_info(const void* data, PointerInfo* info) noexcept;

  static Code stream_create(Stream* stream, int priority) noexcept {
    return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority);
  }
  static Code stream_destroy(Stream stream) noexcept { return cudaStreamDestroy(stream); }
  static Code stream_synchronize(Stream stream) noexcept { return cudaStreamSynchronize(stream); }
  static Code stream_wait(Stream stream, Event event) noexcept { return cudaStreamWaitEvent(stream, event, 0); }
  static Code stream_id(Stream stream, std::uint64_t* id) noexcept {
    unsigned long long number = 0;
    const Code code = cudaStreamGetId(stream, &number);
    *id = number;
    return code;
  }
  /// Needs no current device.
  static Code stream_owner(Stream stream, int* device, bool* is_foreign) noexcept;
  static Stream per_thread_stream() noexcept { return cudaStreamPerThread; }
  static bool is_legacy(Stream stream) noexcept { return stream == nullptr || stream == cudaStreamLegacy; }

  static Code event_create(Event* event) noexcept { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }
  static Code timed_event_create(Event* event) noexcept { return cudaEventCreateWithFlags(event, cudaEventDefault); }
  static Code event_elapsed(float* milliseconds, Event start, Event stop) noexcept {
    return cudaEventElapsedTime(milliseconds, start, stop);
  }
  static Code event_destroy(Event event) noexcept { return cudaEventDestroy(event); }
  static Code event_record(Event event, Stream stream) noexcept { return cudaEventRecord(event, stream); }
  static Code event_query(Event event) noexcept { return cudaEventQuery(event); }
  static Code event_synchronize(Event event) noexcept { return cudaEventSynchronize(event); }

  static Code capture_begin(Stream stream, CaptureMode mode) noexcept;
  static Code capture_end(Stream stream, Graph* graph) noexcept { return cudaStreamEndCapture(stream, graph); }
  static Code capture_status(Stream stream, CaptureStatus* status) noexcept;
  static Code exchange_capture_mode(CaptureMode* mode) noexcept;
  static Code graph_destroy(Graph graph) noexcept { return cudaGraphDestroy(graph); }

  static Code graph_create(Graph* graph) noexcept { return cudaGraphCreate(graph, 0); }
  static Code graph_add_kernel(GraphNode* node, Graph graph, std::span<const GraphNode> after,
                               const KernelLaunch& launch) noexcept;
  static Code graph_add_copy(GraphNode* node, Graph graph, std::span<const GraphNode> after, void* to, const void* from,
                             std::size_t bytes) noexcept {
    return cudaGraphAddMemcpyNode1D(node, graph, after.data(), after.size(), to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  static Code graph_add_child(GraphNode* node, Graph graph, std::span<const GraphNode> after, Graph child) noexcept {
    return cudaGraphAddChildGraphNode(node, graph, after.data(), after.size(), child);
  }
  /// `from` and `to` null: how many there are.
  static Code graph_edges(Graph graph, GraphNode* from, GraphNode* to, std::size_t* count) noexcept {
#if CUDART_VERSION >= 13000
    return cudaGraphGetEdges(graph, from, to, nullptr, count);
#else
    return cudaGraphGetEdges(graph, from, to, count);
#endif
  }
  static Code graph_node_count(Graph graph, std::size_t* count) noexcept {
    return cudaGraphGetNodes(graph, nullptr, count);
  }
  /// Also without the mode Relaxed: it only describes.
  static Code capture_add_child(Stream stream, Graph child) noexcept;
  /// Calls `release` when the graph has ended, or where this fails, if not at once.
  static Code capture_keep(Stream stream, void* data, void (*release)(void*)) noexcept;
  static Code graph_instantiate(GraphExec* exec, Graph graph) noexcept { return cudaGraphInstantiate(exec, graph, 0); }
  static Code graph_upload(GraphExec exec, Stream stream) noexcept { return cudaGraphUpload(exec, stream); }
  static Code graph_launch(GraphExec exec, Stream stream) noexcept { return cudaGraphLaunch(exec, stream); }
  static Code graph_exec_destroy(GraphExec exec) noexcept { return cudaGraphExecDestroy(exec); }
};

static_assert(gpu::GpuApi<CudaApi> && gpu::HasStreamIds<CudaApi> && gpu::HasStreamOwner<CudaApi> &&
              gpu::HasGraphs<CudaApi> && gpu::HasTimedEvents<CudaApi>);

}  // namespace tandem::device::cuda
