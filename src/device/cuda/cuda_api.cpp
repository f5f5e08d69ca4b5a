#include "device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>

namespace tandem::device::cuda {
namespace {

using gpu::CaptureMode;
using gpu::CaptureStatus;

/// The driver's functions that its runtime has no counterpart of. All null without a driver; the green one also with
/// one before 12.4, the node one with one before 12.
struct Driver {
  CUresult (*context_current)(CUcontext*) = nullptr;
  CUresult (*context_set)(CUcontext) = nullptr;
  CUresult (*context_device)(CUdevice*) = nullptr;
  CUresult (*device_get)(CUdevice*, int) = nullptr;
  CUresult (*primary_retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*pointer_attributes)(unsigned, CUpointer_attribute*, void**, CUdeviceptr) = nullptr;
  CUresult (*stream_context)(CUstream, CUcontext*) = nullptr;
  CUresult (*stream_green)(CUstream, CUgreenCtx*) = nullptr;
  CUresult (*add_kernel_node)(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                              const CUDA_KERNEL_NODE_PARAMS*) = nullptr;
  bool is_there = false;

  static const Driver& instance() noexcept {
    static const Driver driver = load();
    return driver;
  }

 private:
  static Driver load() noexcept {
    Driver driver;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays open, as CUDA's runtime keeps it
    if (library == nullptr) return driver;
    const auto bind = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    driver.is_there = bind(driver.context_current, "cuCtxGetCurrent") && bind(driver.context_set, "cuCtxSetCurrent") &&
                      bind(driver.context_device, "cuCtxGetDevice") && bind(driver.device_get, "cuDeviceGet") &&
                      bind(driver.primary_retain, "cuDevicePrimaryCtxRetain") &&
                      bind(driver.pointer_attributes, "cuPointerGetAttributes") &&
                      bind(driver.stream_context, "cuStreamGetCtx");
    bind(driver.stream_green, "cuStreamGetGreenCtx");
    bind(driver.add_kernel_node, "cuGraphAddKernelNode_v2");  // the one whose struct the header has
    return driver;
  }
};

/// The driver's CUdevice is the runtime's index. Codes of the driver that the functions above return have the same
/// numbers in the runtime.
cudaError_t runtime_code(CUresult code) noexcept { return static_cast<cudaError_t>(code); }

constexpr int kMaxDevices = 64;

/// The context that CUDA's runtime uses on a device; made when the device is first used, kept until the process ends.
cudaError_t primary_context(const Driver& driver, int device, CUcontext* context) noexcept {
  static std::array<std::atomic<CUcontext>, kMaxDevices> known{};
  if (device < 0 || device >= kMaxDevices) return cudaErrorInvalidDevice;
  auto& primary = known[static_cast<std::size_t>(device)];
  *context = primary.load(std::memory_order_acquire);
  if (*context != nullptr) return cudaSuccess;
  CUdevice handle = 0;
  CUresult code = driver.device_get(&handle, device);
  if (code == CUDA_SUCCESS) code = driver.primary_retain(context, handle);  // two threads may both: it is counted
  if (code == CUDA_SUCCESS) primary.store(*context, std::memory_order_release);
  return runtime_code(code);
}

cudaStreamCaptureMode native(CaptureMode mode) noexcept {
  switch (mode) {
    case CaptureMode::Global:
      return cudaStreamCaptureModeGlobal;
    case CaptureMode::ThreadLocal:
      return cudaStreamCaptureModeThreadLocal;
    case CaptureMode::Relaxed:
      break;
  }
  return cudaStreamCaptureModeRelaxed;
}

CaptureMode ours(cudaStreamCaptureMode mode) noexcept {
  switch (mode) {
    case cudaStreamCaptureModeGlobal:
      return CaptureMode::Global;
    case cudaStreamCaptureModeThreadLocal:
      return CaptureMode::ThreadLocal;
    case cudaStreamCaptureModeRelaxed:
      break;
  }
  return CaptureMode::Relaxed;
}

}  // namespace

// Source: CUDA Runtime API reference, cudaError_t: those that "leave the process in an inconsistent state" are faults.
ErrorCode CudaApi::meaning(Code code) noexcept {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::OutOfMemory;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorMpsClientTerminated:
      return ErrorCode::DeviceFault;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return ErrorCode::NotFound;
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNotSupported:
      return ErrorCode::NotSupported;
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
      return ErrorCode::IncompatibleDelegate;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidResourceHandle:
      return ErrorCode::InvalidArgument;
    case cudaErrorIllegalState:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
      return ErrorCode::InvalidState;
    default:
      return ErrorCode::Internal;
  }
}

// The driver answers after a fault, too.
cudaError_t CudaApi::current_device(int* device) noexcept {
  const Driver& driver = Driver::instance();
  CUcontext context = nullptr;
  if (driver.is_there && driver.context_current(&context) == CUDA_SUCCESS && context != nullptr) {
    return runtime_code(driver.context_device(device));
  }
  return cudaGetDevice(device);
}

cudaError_t CudaApi::enter(int device, Caller* caller) noexcept {
  const Driver& driver = Driver::instance();
  if (!driver.is_there) return cudaErrorInsufficientDriver;
  CUcontext primary = nullptr;
  if (const Code code = primary_context(driver, device, &primary); code != cudaSuccess) return code;
  if (const CUresult code = driver.context_current(&caller->context); code != CUDA_SUCCESS) return runtime_code(code);
  if (caller->context == primary) return cudaSuccess;
  if (caller->context != nullptr) {
    CUdevice current = -1;
    if (driver.context_device(&current) == CUDA_SUCCESS) caller->is_foreign = current == device;
  }
  caller->is_switched = true;
  return runtime_code(driver.context_set(primary));
}

void CudaApi::leave(const Caller& caller) noexcept {
  if (caller.is_switched) Driver::instance().context_set(caller.context);
}

// The runtime's own question would make a context on whatever device is current.
cudaError_t CudaApi::pointer_info(const void* data, PointerInfo* info) noexcept {
  const Driver& driver = Driver::instance();
  if (!driver.is_there) return cudaErrorInsufficientDriver;
  CUmemorytype type{};  // neither, for memory that the driver does not know
  int device = 0;
  unsigned is_managed = 0;
  std::array<CUpointer_attribute, 3> wanted{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                            CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 3> answers{&type, &device, &is_managed};
  const CUresult code = driver.pointer_attributes(static_cast<unsigned>(wanted.size()), wanted.data(), answers.data(),
                                                  reinterpret_cast<CUdeviceptr>(data));
  if (code != CUDA_SUCCESS) return runtime_code(code);
  info->device = device;
  if (is_managed != 0) {
    info->place = PointerPlace::Managed;
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    info->place = PointerPlace::Device;
  } else {
    info->place = type == CU_MEMORYTYPE_HOST ? PointerPlace::PinnedHost : PointerPlace::Pageable;
  }
  return cudaSuccess;
}

cudaError_t CudaApi::stream_owner(Stream stream, int* device, bool* is_foreign) noexcept {
  const Driver& driver = Driver::instance();
  if (!driver.is_there) return cudaErrorInsufficientDriver;
  CUcontext context = nullptr;
  CUresult code = driver.stream_context(stream, &context);
  if (code != CUDA_SUCCESS) return runtime_code(code);
  CUcontext before = nullptr;
  code = driver.context_current(&before);
  if (code == CUDA_SUCCESS) code = driver.context_set(context);
  if (code != CUDA_SUCCESS) return runtime_code(code);
  CUdevice owner = -1;
  code = driver.context_device(&owner);
  driver.context_set(before);
  if (code != CUDA_SUCCESS) return runtime_code(code);
  *device = owner;
  CUcontext primary = nullptr;
  if (const Code found = primary_context(driver, owner, &primary); found != cudaSuccess) return found;
  *is_foreign = context != primary;
  CUgreenCtx green = nullptr;
  if (*is_foreign && driver.stream_green != nullptr && driver.stream_green(stream, &green) == CUDA_SUCCESS) {
    *is_foreign = green == nullptr;  // a green context has the primary one's memory
  }
  return cudaSuccess;
}

cudaError_t CudaApi::capture_begin(Stream stream, CaptureMode mode) noexcept {
  return cudaStreamBeginCapture(stream, native(mode));
}

cudaError_t CudaApi::capture_status(Stream stream, CaptureStatus* status) noexcept {
  cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  const Code code = cudaStreamIsCapturing(stream, &found);
  switch (found) {
    case cudaStreamCaptureStatusNone:
      *status = CaptureStatus::None;
      break;
    case cudaStreamCaptureStatusActive:
      *status = CaptureStatus::Active;
      break;
    case cudaStreamCaptureStatusInvalidated:
      *status = CaptureStatus::Invalidated;
      break;
  }
  return code;
}

cudaError_t CudaApi::graph_add_kernel(GraphNode* node, Graph graph, std::span<const GraphNode> after,
                                      const KernelLaunch& launch) noexcept {
  const Driver& driver = Driver::instance();
  if (driver.add_kernel_node == nullptr) return cudaErrorNotSupported;
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = static_cast<CUfunction>(launch.function);
  parameters.gridDimX = launch.grid[0];
  parameters.gridDimY = launch.grid[1];
  parameters.gridDimZ = launch.grid[2];
  parameters.blockDimX = launch.block[0];
  parameters.blockDimY = launch.block[1];
  parameters.blockDimZ = launch.block[2];
  parameters.sharedMemBytes = launch.shared_bytes;
  parameters.kernelParams = launch.arguments;
  parameters.extra = launch.extra;
  return runtime_code(driver.add_kernel_node(node, graph, after.data(), after.size(), &parameters));
}

namespace {

/// The graph that a stream captures, and what comes next there comes after. The nodes are valid until the next call.
cudaError_t capture_info(cudaStream_t stream, cudaGraph_t* graph, const cudaGraphNode_t** last,
                         std::size_t* count) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
#if CUDART_VERSION >= 13000
  const cudaError_t code = cudaStreamGetCaptureInfo(stream, &status, nullptr, graph, last, nullptr, count);
#else
  const cudaError_t code = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, graph, last, count);
#endif
  if (code != cudaSuccess || status == cudaStreamCaptureStatusActive) return code;
  return cudaErrorStreamCaptureInvalidated;
}

}  // namespace

cudaError_t CudaApi::capture_add_child(Stream stream, Graph child) noexcept {
  Graph graph{};
  const GraphNode* last = nullptr;
  std::size_t count = 0;
  if (const Code code = capture_info(stream, &graph, &last, &count); code != kOk) return code;
  const std::unique_ptr<GraphNode[]> after{new (std::nothrow) GraphNode[count + 1]};
  if (after == nullptr) return cudaErrorMemoryAllocation;
  std::copy_n(last, count, after.get());
  GraphNode node{};
  if (const Code code = cudaGraphAddChildGraphNode(&node, graph, after.get(), count, child); code != kOk) return code;
#if CUDART_VERSION >= 13000
  return cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies);
#else
  return cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
#endif
}

cudaError_t CudaApi::capture_keep(Stream stream, void* data, void (*release)(void*)) noexcept {
  Graph graph{};
  const GraphNode* last = nullptr;
  std::size_t count = 0;
  Code code = capture_info(stream, &graph, &last, &count);
  cudaUserObject_t object{};
  if (code == kOk) code = cudaUserObjectCreate(&object, data, release, 1, cudaUserObjectNoDestructorSync);
  if (code != kOk) {
    release(data);
    return code;
  }
  code = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (code != kOk) static_cast<void>(cudaUserObjectRelease(object, 1));  // which calls it
  return code;
}

cudaError_t CudaApi::exchange_capture_mode(CaptureMode* mode) noexcept {
  cudaStreamCaptureMode exchanged = native(*mode);
  const Code code = cudaThreadExchangeStreamCaptureMode(&exchanged);
  *mode = ours(exchanged);
  return code;
}

}  // namespace tandem::device::cuda
