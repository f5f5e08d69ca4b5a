#include "simulated_cuda.h"

#include "support/aoti_library/fake_kernel.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace tandem::testing {
namespace {

using fake_kernel::Kernel;

struct Memory {
  std::mutex mutex{};
  std::map<void*, device::Buffer> blocks{};
};

Memory& memory() {
  static auto* blocks = new Memory;
  return *blocks;
}

device::Stream& stream_of(cudaStream_t stream) { return *reinterpret_cast<device::Stream*>(stream); }

cudaError_t code_of(const Status& status) { return status.ok() ? cudaSuccess : cudaErrorUnknown; }
CUresult result_of(const Status& status) { return status.ok() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN; }

Status available(int device) {
  return device == 0 ? Status{} : Status{Error{ErrorCode::NotFound, "there is cuda:0 alone"}};
}
Error error(cudaError_t code, const char* call) {
  return Error{ErrorCode::BackendFailed, std::string{call} + " failed"}.with_native(Origin::Cuda, code, "simulated");
}
cudaError_t enter(int /*device*/, aoti::CudaFunctions::Caller* /*caller*/) noexcept { return cudaSuccess; }
void leave(const aoti::CudaFunctions::Caller& /*caller*/) noexcept {}
cudaStream_t native(device::Stream& stream) noexcept { return reinterpret_cast<cudaStream_t>(&stream); }
Status upload(int /*device*/, void* to, std::span<const std::byte> from) {
  std::memcpy(to, from.data(), from.size());
  return {};
}

cudaError_t device_attribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
cudaError_t get_device(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t set_device(int /*device*/) { return cudaSuccess; }
cudaError_t get_last_error() { return cudaSuccess; }
const char* get_error_string(cudaError_t /*code*/) { return "an error of the simulation"; }

cudaError_t allocate(void** data, std::size_t bytes) noexcept {
  auto made = simulated_gpu().allocate(bytes);
  if (!made.ok()) return cudaErrorMemoryAllocation;
  *data = made->data();
  const std::scoped_lock lock{memory().mutex};
  memory().blocks.emplace(*data, *std::move(made));
  return cudaSuccess;
}
cudaError_t free(void* data) noexcept {
  const std::scoped_lock lock{memory().mutex};
  return memory().blocks.erase(data) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t stream_create(cudaStream_t* stream) {
  auto made = simulated_gpu().make_stream();
  if (!made.ok()) return cudaErrorUnknown;
  *stream = native(*made->release());
  return cudaSuccess;
}
cudaError_t stream_synchronize(cudaStream_t stream) { return code_of(stream_of(stream).synchronize()); }
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  return code_of(stream_of(stream).copy(to, from, bytes));
}
cudaError_t copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t code = cudaSuccess;
  for (std::size_t row = 0; row < height && code == cudaSuccess; ++row) {
    code = copy(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch,
                width, kind, stream);
  }
  return code;
}
cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return code_of(stream_of(stream).fill(to, static_cast<std::byte>(value), bytes));
}

CUresult launch(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream stream, void** arguments, void** /*extra*/) {
  return result_of(SimulatedGpu::launch(StreamRef{stream_of(stream)}, SimulatedGpu::call_of(function, arguments)));
}
CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** /*extra*/) {
  const std::span attributes{config->attrs, config->numAttrs};
  const bool may_overlap = std::ranges::any_of(attributes, [](const CUlaunchAttribute& attribute) {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
           attribute.value.programmaticStreamSerializationAllowed != 0;
  });
  const StreamRef stream{stream_of(config->hStream)};
  auto call = SimulatedGpu::call_of(function, arguments);
  const bool overlaps = may_overlap && !reinterpret_cast<const Kernel*>(function)->waits;
  return result_of(overlaps ? SimulatedGpu::launch_overlapping(stream, std::move(call))
                            : SimulatedGpu::launch(stream, std::move(call)));
}
CUresult module_load(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(const_cast<void*>(image));
  return CUDA_SUCCESS;
}
CUresult module_unload(CUmodule /*module*/) { return CUDA_SUCCESS; }
CUresult module_function(CUfunction* function, CUmodule module, const char* name) {
  for (auto* kernel = reinterpret_cast<Kernel*>(module); kernel->name != nullptr; ++kernel) {
    if (std::string{name} != kernel->name) continue;
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace

SimulatedGpu& simulated_gpu() {
  static auto* gpu = new SimulatedGpu{1};
  return *gpu;
}

const aoti::CudaFunctions& simulated_cuda() {
  static const aoti::CudaFunctions functions = [] {
    aoti::CudaFunctions made{};
    made.available = available;
    made.error = error;
    made.enter = enter;
    made.leave = leave;
    made.native = native;
    made.upload = upload;
    made.device_attribute = device_attribute;
    made.get_device = get_device;
    made.set_device = set_device;
    made.get_last_error = get_last_error;
    made.get_error_string = get_error_string;
    made.allocate = allocate;
    made.free = free;
    made.stream_create = stream_create;
    made.stream_synchronize = stream_synchronize;
    made.copy = copy;
    made.copy_2d = copy_2d;
    made.fill = fill;
    made.launch_kernel = launch;
    made.launch_kernel_ex = launch_ex;
    made.module_load = module_load;
    made.module_unload = module_unload;
    made.module_function = module_function;
    return made;
  }();
  return functions;
}

}  // namespace tandem::testing
