#include "backends/aoti/cuda_functions.h"

#include "device/cuda/cuda_device.h"

#include <dlfcn.h>
#include <type_traits>

namespace tandem::aoti {
namespace {

namespace cuda = device::cuda;
using Relaxed = device::gpu::RelaxedScope<cuda::CudaApi>;

Status available(int index) {
  const auto device = cuda::find_device(index);
  return device.ok() ? Status{} : Status{device.error()};
}

cudaError_t allocate(void** data, std::size_t bytes) noexcept {
  const Relaxed relaxed;
  return cudaMalloc(data, bytes);
}

cudaError_t free(void* data) noexcept {
  const Relaxed relaxed;
  return cudaFree(data);
}

cudaError_t stream_create(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); }

CudaFunctions make_functions() {
  CudaFunctions functions{};
  functions.available = available;
  functions.error = cuda::cuda_error;
  functions.enter = cuda::CudaApi::enter;
  functions.leave = cuda::CudaApi::leave;
  functions.native = cuda::native;
  functions.upload = cuda::upload;
  functions.device_attribute = cudaDeviceGetAttribute;
  functions.get_device = cudaGetDevice;
  functions.set_device = cudaSetDevice;
  functions.get_last_error = cudaGetLastError;
  functions.get_error_string = cudaGetErrorString;
  functions.allocate = allocate;
  functions.free = free;
  functions.stream_create = stream_create;
  functions.stream_synchronize = cudaStreamSynchronize;
  functions.copy = cudaMemcpyAsync;
  functions.copy_2d = cudaMemcpy2DAsync;
  functions.fill = cudaMemsetAsync;
  functions.event_create = cudaEventCreateWithFlags;
  functions.event_destroy = cudaEventDestroy;
  functions.event_query = cudaEventQuery;
  functions.event_record = cudaEventRecord;
  functions.event_synchronize = cudaEventSynchronize;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays open, as CUDA's runtime keeps it
  const auto bind = [driver](auto& function, const char* name) {
    if (driver == nullptr) return;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, name));
  };
  bind(functions.launch_kernel, "cuLaunchKernel");
  bind(functions.launch_kernel_ex, "cuLaunchKernelEx");
  bind(functions.module_load, "cuModuleLoadData");
  bind(functions.module_unload, "cuModuleUnload");
  bind(functions.module_function, "cuModuleGetFunction");
  bind(functions.function_set_attribute, "cuFuncSetAttribute");
  bind(functions.function_get_attribute, "cuFuncGetAttribute");
  bind(functions.error_string, "cuGetErrorString");
  bind(functions.error_name, "cuGetErrorName");
  return functions;
}

}  // namespace

const CudaFunctions& cuda_functions() {
  static const CudaFunctions functions = make_functions();
  return functions;
}

}  // namespace tandem::aoti
