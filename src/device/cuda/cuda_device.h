#pragma once

#include "device/cuda/cuda_api.h"
#include "device/device.h"
#include "device/gpu/capture.h"
#include "device/gpu/gpu_device.h"
#include "device/gpu/scopes.h"

#include <tandem/event.h>
#include <tandem/result.h>

#include <cstddef>
#include <memory>
#include <span>

namespace tandem::device::cuda {

using CudaDevice = gpu::GpuDevice<CudaApi>;
using CudaStream = gpu::GpuStream<CudaApi>;
using CudaEvent = gpu::GpuEvent<CudaApi>;
using CaptureScope = gpu::CaptureScope<CudaApi>;
using Graph = gpu::Graph<CudaApi>;
/// Makes a device current for the calling thread and restores the caller's. What is launched on native() streams is
/// launched inside one: the per-thread handle means a stream of the current device.
using DeviceScope = gpu::DeviceScope<CudaApi>;

/// 0 without a driver.
[[nodiscard]] int device_count() noexcept;
/// Lifetime: as long as the process.
/// Errors: NotSupported, no driver or no device; NotFound, naming those that there are; InvalidState, a forked child.
[[nodiscard]] Result<CudaDevice*> find_device(int index);

/// Precondition: a stream of a CUDA device.
[[nodiscard]] inline cudaStream_t native(Stream& stream) noexcept { return static_cast<CudaStream&>(stream).handle(); }
/// A stream of the caller's, a green context's too; the driver is asked for its device.
/// Lifetime: the handle outlives the object, which leaves it alone.
/// Errors: InvalidArgument, the legacy stream, a stream of a context that is neither CUDA's primary one nor green;
///   NotSupported, the per-thread stream while such a context is current; as find_device().
[[nodiscard]] Result<std::unique_ptr<Stream>> borrow(cudaStream_t stream);

/// Whose memory that is. Asks the driver: not for every call.
/// Errors: InvalidArgument, memory of the host; as find_device().
[[nodiscard]] Result<DeviceId> owner_of(const void* data);

/// Copies host bytes to a device's memory, through page-locked memory, on a private stream. Blocks until they are
/// there. Errors: OutOfMemory; DeviceFault; as find_device().
[[nodiscard]] Status upload(int device, void* to, std::span<const std::byte> from);

/// What a CUDA call answered, as an Error. Clears CUDA's last error; a fault is remembered for the current device.
/// `call` is for people, "cudaLaunchKernel" for example.
[[nodiscard]] Error cuda_error(cudaError_t code, const char* call);

}  // namespace tandem::device::cuda
