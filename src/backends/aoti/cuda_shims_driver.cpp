#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_image.h"
#include "backends/aoti/cuda_shims.h"

#include <string>

/// The CUDA driver as libraries see it.
namespace tandem::aoti {
namespace {

/// `function(arguments...)` of the calling container's table.
template <class Function, class... Arguments>
CUresult forward(Function CudaFunctions::*function, Arguments... arguments) noexcept {
  const CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const Function call = device->functions().*function;
  return call == nullptr ? CUDA_ERROR_NOT_FOUND : call(arguments...);
}

/// A code of the driver for a recorder's answer; its text goes to the caller of the library.
CUresult note_recorded(const Status& recorded) noexcept {
  if (recorded.ok()) return CUDA_SUCCESS;
  const Error& error = recorded.error();
  try {
    note_refusal(error.to_string(), error.code());
  } catch (...) {  // no memory for the text
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                       void** extra) noexcept {
  const CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (Recorder* const recorder = device->recorder(); recorder != nullptr) {
    return note_recorded(recorder->kernel({.function = function,
                                           .grid = {grid_x, grid_y, grid_z},
                                           .block = {block_x, block_y, block_z},
                                           .shared_bytes = shared_bytes,
                                           .arguments = arguments,
                                           .extra = extra}));
  }
  return forward(&CudaFunctions::launch_kernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                 shared_bytes, device->stream_for(stream), arguments, extra);
}

CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) noexcept {
  const CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (config->numAttrs == 0) {
    return launch_kernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                         config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, arguments,
                         extra);
  }
  if (!device->may_enqueue("cuLaunchKernelEx with attributes")) return CUDA_ERROR_NOT_SUPPORTED;
  CUlaunchConfig on_stream = *config;
  on_stream.hStream = device->stream_for(config->hStream);
  const CUlaunchConfig* changed = &on_stream;
  return forward(&CudaFunctions::launch_kernel_ex, changed, function, arguments, extra);
}

/// Whether the code says that the image is not for this GPU or driver.
bool is_misfit(CUresult code) noexcept {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_INVALID_PTX ||
         code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || code == CUDA_ERROR_INVALID_SOURCE ||
         code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
}

void explain(CUresult code, const void* image, const CudaAotiDevice& device) noexcept try {
  const char* name = nullptr;
  if (device.functions().error_name != nullptr) device.functions().error_name(code, &name);
  const std::string answer =
      std::string{"cuModuleLoadData: "} + (name != nullptr ? name : "error") + " (" + std::to_string(code) + ")";
  if (is_misfit(code)) {
    note_refusal(answer + "; the delegate's kernels are compiled for " + targets_of(image) + ", " + device.name() +
                     " is " + device.gpu().architecture(),
                 ErrorCode::IncompatibleDelegate);
  } else {
    note_refusal(answer, code == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::OutOfMemory : ErrorCode::BackendFailed);
  }
} catch (...) {  // no memory for the text
}

/// Libraries never unload what they load.
CUresult module_load(CUmodule* module, const void* image) noexcept {
  const CUresult code = forward(&CudaFunctions::module_load, module, image);
  CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return code;
  if (code != CUDA_SUCCESS) {
    explain(code, image, *device);
    return code;
  }
  try {
    device->keep(*module);
    return code;
  } catch (...) {
    device->functions().module_unload(*module);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult module_function(CUfunction* function, CUmodule module, const char* name) noexcept {
  return forward(&CudaFunctions::module_function, function, module, name);
}
CUresult set_attribute(CUfunction function, CUfunction_attribute attribute, int value) noexcept {
  return forward(&CudaFunctions::function_set_attribute, function, attribute, value);
}
CUresult get_attribute(int* value, CUfunction_attribute attribute, CUfunction function) noexcept {
  return forward(&CudaFunctions::function_get_attribute, value, attribute, function);
}
CUresult error_string(CUresult code, const char** text) noexcept {
  if (code == CUDA_SUCCESS && text != nullptr) {  // generated code asks after every launch
    *text = "no error";
    return CUDA_SUCCESS;
  }
  return forward(&CudaFunctions::error_string, code, text);
}
CUresult error_name(CUresult code, const char** text) noexcept {
  return forward(&CudaFunctions::error_name, code, text);
}

}  // namespace

void add_cuda_driver_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"cuLaunchKernel", address_of(launch_kernel)},
                                {"cuLaunchKernelEx", address_of(launch_kernel_ex)},
                                {"cuModuleLoadData", address_of(module_load)},
                                {"cuModuleGetFunction", address_of(module_function)},
                                {"cuFuncSetAttribute", address_of(set_attribute)},
                                {"cuFuncGetAttribute", address_of(get_attribute)},
                                {"cuGetErrorString", address_of(error_string)},
                                {"cuGetErrorName", address_of(error_name)},
                            });
}

}  // namespace tandem::aoti
