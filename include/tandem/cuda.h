#pragma once

#include <tandem/event.h>
#include <tandem/export.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>
#include <tandem/stream.h>
#include <tandem/stream_ref.h>
#include <tandem/tensor.h>

#include <cstdint>
#include <functional>
#include <span>

// CUDA's own handles: cudaStream_t is CUstream_st*, cudaEvent_t is CUevent_st*.
struct CUstream_st;
struct CUevent_st;

/// Between CUDA code of the caller's and Tandem. Everything here fails with NotSupported in a build without CUDA, on a
/// machine without a driver or device, and with InvalidState in a forked child.
namespace tandem::cuda {

/// 0 in a build without CUDA, and without a driver.
[[nodiscard]] TANDEM_EXPORT int device_count() noexcept;

/// A stream of the caller's as Tandem's, a green context's too. `cudaStreamPerThread` means the calling thread's, on
/// the current device, and may be used by that thread only.
///
/// Lifetime: `stream` outlives the object and the executions on it; the object leaves it alone when it goes. Capture
///   is up to its owner.
/// Errors: InvalidArgument, the legacy stream (null), or a stream of a context that is neither the device's primary one
///   nor green; NotSupported, also `cudaStreamPerThread` while such a context is current.
[[nodiscard]] TANDEM_EXPORT Result<Stream> borrow_stream(CUstream_st* stream);
/// The handle of a CUDA device's stream. `cudaStreamPerThread` for a per-thread one.
/// Errors: InvalidArgument, a stream of another kind of device.
[[nodiscard]] TANDEM_EXPORT Result<CUstream_st*> native_stream(StreamRef stream);

/// An event of the caller's as Tandem's: `ExecuteOptions::inputs_ready`, for example.
///
/// Lifetime: `event` outlives the Event and what was told to wait for it.
/// Errors: InvalidArgument, null; NotFound, no such device.
[[nodiscard]] TANDEM_EXPORT Result<Event> borrow_event(CUevent_st* event, int device);
/// The handle of an Event: what `cudaStreamWaitEvent` takes, to order work of the caller's after an execution.
///
/// Lifetime: the handle lives as long as `event` or a copy.
/// Errors: InvalidArgument, undefined or of another kind of device; InvalidState, it waits for the host.
[[nodiscard]] TANDEM_EXPORT Result<CUevent_st*> native_event(const Event& event);

/// A tensor over device or managed memory of the caller's. Asks the driver whose the memory is, once; the tensor knows
/// it from then on.
///
/// Shapes, Lifetime: as Tensor::from_blob.
/// Errors: as Tensor::from_blob; InvalidArgument, also memory of the host.
[[nodiscard]] TANDEM_EXPORT Result<Tensor> tensor_from_pointer(void* data, ScalarType dtype,
                                                               std::span<const std::int64_t> sizes,
                                                               std::span<const std::int64_t> strides = {},
                                                               std::function<void()> release = {});

}  // namespace tandem::cuda
