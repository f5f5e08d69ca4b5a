#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_image.h"
#include "backends/aoti/cuda_shims.h"

#include <array>
#include <span>
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

/// A launch as the driver takes it, with the attributes that remain.
class Launch {
 public:
  /// More than there are kinds of attributes.
  static constexpr std::size_t kMaxAttributes = 32;

  /// Copies what `config` says, but for attributes without an effect. The first launch of a run also loses
  /// programmatic serialization, with which it could start before the kernel ahead of it on the stream has ended: that
  /// one is another delegate's, and nothing tells this kernel to wait for it. Behind a launch without the attribute it
  /// overlaps kernels of its own delegate only.
  ///
  /// The other attributes keep the order of the stream. Events of PROGRAMMATIC_EVENT and LAUNCH_COMPLETION_EVENT fire
  /// early for those who wait for them, which the host alone can: libraries get no function for a stream to do so.
  /// Priorities and memory synchronization domains change neither what a launch waits for nor what its end makes
  /// visible.
  ///
  /// Source: CUDA driver API, CUlaunchAttributeID, "to overlap with the previous kernel in the stream, if that kernel
  ///   requests the overlap".
  Launch(const CUlaunchConfig& config, bool is_first) noexcept : config_{config} {
    for (const CUlaunchAttribute& attribute : std::span{config.attrs, config.numAttrs}) {
      if (says_nothing(attribute) || (is_first && is_overlap(attribute))) continue;
      attributes_[count_++] = attribute;
      has_overlap_ = has_overlap_ || is_overlap(attribute);
    }
    config_.attrs = count_ == 0 ? nullptr : attributes_.data();
    config_.numAttrs = count_;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  [[nodiscard]] CUlaunchConfig& config() noexcept { return config_; }
  [[nodiscard]] bool has_attributes() const noexcept { return count_ != 0; }
  [[nodiscard]] bool has_overlap() const noexcept { return has_overlap_; }

 private:
  static bool is_overlap(const CUlaunchAttribute& attribute) noexcept {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  }
  static bool says_nothing(const CUlaunchAttribute& attribute) noexcept {
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
        return true;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        return attribute.value.programmaticStreamSerializationAllowed == 0;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return attribute.value.cooperative == 0;
      default:
        return false;
    }
  }

  CUlaunchConfig config_;
  std::array<CUlaunchAttribute, kMaxAttributes> attributes_;  // the first count_ are set
  unsigned count_ = 0;
  bool has_overlap_ = false;
};

CUresult launch_plain(CudaAotiDevice& device, const CUlaunchConfig& config, CUfunction function, void** arguments,
                      void** extra) noexcept {
  if (Recorder* const recorder = device.recorder(); recorder != nullptr) {
    return note_recorded(recorder->kernel({.function = function,
                                           .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                                           .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                                           .shared_bytes = config.sharedMemBytes,
                                           .arguments = arguments,
                                           .extra = extra}));
  }
  return forward(&CudaFunctions::launch_kernel, function, config.gridDimX, config.gridDimY, config.gridDimZ,
                 config.blockDimX, config.blockDimY, config.blockDimZ, config.sharedMemBytes,
                 device.stream_for(config.hStream), arguments, extra);
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                       void** extra) noexcept {
  CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  static_cast<void>(device->is_first_launch());
  CUlaunchConfig config{};
  config.gridDimX = grid_x;
  config.gridDimY = grid_y;
  config.gridDimZ = grid_z;
  config.blockDimX = block_x;
  config.blockDimY = block_y;
  config.blockDimZ = block_z;
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream;
  return launch_plain(*device, config, function, arguments, extra);
}

CUresult refuse_attributes(unsigned count) noexcept {
  try {
    note_refusal("cuLaunchKernelEx: " + std::to_string(count) + " attributes, at most " +
                     std::to_string(Launch::kMaxAttributes) + " are supported",
                 ErrorCode::NotSupported);
  } catch (...) {  // no memory for the text
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) noexcept {
  CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs > Launch::kMaxAttributes) return refuse_attributes(config->numAttrs);
  Launch launch{*config, device->is_first_launch()};
  if (!launch.has_attributes()) return launch_plain(*device, launch.config(), function, arguments, extra);
  if (!device->may_enqueue("cuLaunchKernelEx with attributes")) return CUDA_ERROR_NOT_SUPPORTED;
  if (launch.has_overlap()) device->note_overlap();
  launch.config().hStream = device->stream_for(config->hStream);
  const CUlaunchConfig* changed = &launch.config();
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
