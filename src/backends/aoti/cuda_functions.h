#pragma once

#include "device/cuda/cuda_api.h"
#include "device/stream.h"

#include <tandem/result.h>

#include <cstddef>
#include <span>

namespace tandem::aoti {

/// What delegates need of CUDA: its runtime, its driver, and Tandem's own devices. A table, so that tests can stand in
/// for all of it on a machine without a GPU.
struct CudaFunctions {
  using Caller = device::cuda::CudaApi::Caller;

  /// Errors: NotSupported, no driver or no device; NotFound, naming the devices that there are.
  Status (*available)(int device);
  Error (*error)(cudaError_t code, const char* call);  ///< Remembers faults.
  cudaError_t (*enter)(int device, Caller* caller) noexcept;
  void (*leave)(const Caller& caller) noexcept;
  cudaStream_t (*native)(device::Stream& stream) noexcept;
  Status (*upload)(int device, void* to, std::span<const std::byte> from);

  // The runtime.
  cudaError_t (*device_attribute)(int* value, cudaDeviceAttr attribute, int device);
  cudaError_t (*get_device)(int* device);
  cudaError_t (*set_device)(int device);
  cudaError_t (*get_last_error)();
  const char* (*get_error_string)(cudaError_t code);
  cudaError_t (*allocate)(void** data, std::size_t bytes) noexcept;  ///< Also while a stream captures.
  cudaError_t (*free)(void* data) noexcept;                          ///< Likewise.
  cudaError_t (*stream_create)(cudaStream_t* stream);                ///< A non-blocking one.
  cudaError_t (*stream_synchronize)(cudaStream_t stream);
  cudaError_t (*copy)(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
  cudaError_t (*copy_2d)(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind, cudaStream_t stream);
  cudaError_t (*fill)(void* to, int value, std::size_t bytes, cudaStream_t stream);
  cudaError_t (*event_create)(cudaEvent_t* event, unsigned flags);
  cudaError_t (*event_destroy)(cudaEvent_t event);
  cudaError_t (*event_query)(cudaEvent_t event);
  cudaError_t (*event_record)(cudaEvent_t event, cudaStream_t stream);
  cudaError_t (*event_synchronize)(cudaEvent_t event);

  // The driver. Null where there is none.
  CUresult (*launch_kernel)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                            void** arguments, void** extra);
  CUresult (*launch_kernel_ex)(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra);
  CUresult (*module_load)(CUmodule* module, const void* image);
  CUresult (*module_unload)(CUmodule module);
  CUresult (*module_function)(CUfunction* function, CUmodule module, const char* name);
  CUresult (*function_set_attribute)(CUfunction function, CUfunction_attribute attribute, int value);
  CUresult (*function_get_attribute)(int* value, CUfunction_attribute attribute, CUfunction function);
  CUresult (*error_string)(CUresult code, const char** text);
  CUresult (*error_name)(CUresult code, const char** text);
};

/// The real ones.
[[nodiscard]] const CudaFunctions& cuda_functions();

}  // namespace tandem::aoti
