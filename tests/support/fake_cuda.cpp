#include "support/fake_cuda.h"

#include "device/cuda/cuda_device.h"
#include "support/aoti_library/fake_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

namespace tandem::testing {
namespace {

using fake_kernel::Kernel;

struct FakeModule {
  const void* image;
};

FakeCuda& fake() { return FakeCuda::instance(); }

/// Counts the call, and logs it.
void called(const std::string& name, const std::string& detail = {}) {
  ++fake().counts[name];
  fake().log.push_back(detail.empty() ? name : name + " " + detail);
}
void on(cudaStream_t stream) { fake().streams.insert(stream); }

bool is_fake(const void* image) { return std::memcmp(image, fake_kernel::kMagic, sizeof fake_kernel::kMagic) == 0; }

Status available(int device) {
  if (device == 0) return {};
  return Error{ErrorCode::NotFound, "no such device"}.with_expected("cuda:0", "cuda:" + std::to_string(device));
}

Error error(cudaError_t code, const char* call) {
  return Error{device::cuda::CudaApi::meaning(code), std::string{call} + " failed"}.with_native(Origin::Cuda, code,
                                                                                                "the fake says so");
}

cudaError_t enter(int /*device*/, aoti::CudaFunctions::Caller* /*caller*/) noexcept {
  ++fake().entered;
  return cudaSuccess;
}
void leave(const aoti::CudaFunctions::Caller& /*caller*/) noexcept { --fake().entered; }
cudaStream_t native(device::Stream& /*stream*/) noexcept { return FakeCuda::kRunStream; }

Status upload(int /*device*/, void* to, std::span<const std::byte> from) {
  called("upload");
  std::memcpy(to, from.data(), from.size());
  return {};
}

cudaError_t device_attribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  called("cudaDeviceGetAttribute");
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
cudaError_t get_device(int* device) {
  called("cudaGetDevice");
  *device = 0;
  return fake().entered > 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t set_device(int /*device*/) {
  called("cudaSetDevice");
  return cudaSuccess;
}
cudaError_t get_last_error() {
  called("cudaGetLastError");
  return cudaSuccess;
}
const char* get_error_string(cudaError_t /*code*/) { return "the fake's error"; }

cudaError_t allocate(void** data, std::size_t bytes) noexcept {
  called("cudaMalloc");
  if (fake().allocations_left == 0) return cudaErrorMemoryAllocation;
  if (fake().allocations_left > 0) --fake().allocations_left;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(block, 0xCD, bytes);
  fake().blocks[block] = bytes;
  *data = block;
  return cudaSuccess;
}
cudaError_t free(void* data) noexcept {
  called("cudaFree");
  if (fake().blocks.erase(static_cast<std::byte*>(data)) == 0) return cudaErrorInvalidValue;
  std::free(data);
  return cudaSuccess;
}

cudaError_t stream_create(cudaStream_t* stream) {
  static std::uintptr_t next = 0x2000;
  called("cudaStreamCreateWithFlags");
  *stream = reinterpret_cast<cudaStream_t>(next += 0x10);
  return cudaSuccess;
}
cudaError_t stream_synchronize(cudaStream_t stream) {
  called("cudaStreamSynchronize");
  on(stream);
  return fake().synchronize_answer;
}
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  called("cudaMemcpyAsync");
  on(stream);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  called("cudaMemcpy2DAsync");
  on(stream);
  if (to_pitch < width || from_pitch < width) return cudaErrorInvalidPitchValue;
  for (std::size_t row = 0; row < height; ++row) {
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch,
                 width);
  }
  return cudaSuccess;
}
cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  called("cudaMemsetAsync");
  on(stream);
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t event_create(cudaEvent_t* event, unsigned /*flags*/) {
  static std::uintptr_t next = 0x100000;
  called("cudaEventCreate");
  *event = reinterpret_cast<cudaEvent_t>(next += 0x10);
  fake().events.insert(*event);
  return cudaSuccess;
}
cudaError_t event_destroy(cudaEvent_t event) {
  called("cudaEventDestroy");
  return fake().events.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t event_query(cudaEvent_t /*event*/) {
  called("cudaEventQuery");
  return cudaSuccess;
}
cudaError_t event_record(cudaEvent_t /*event*/, cudaStream_t stream) {
  called("cudaEventRecord");
  on(stream);
  return cudaSuccess;
}
cudaError_t event_synchronize(cudaEvent_t /*event*/) {
  called("cudaEventSynchronize");
  return cudaSuccess;
}

CUresult launch_with(std::span<const CUlaunchAttribute> attributes, CUfunction function, CUstream stream,
                     void** arguments) {
  const auto* kernel = reinterpret_cast<const Kernel*>(function);
  const char* const name = kernel->name == nullptr ? "" : kernel->name;
  called("cuLaunchKernel", name);
  FakeCuda::Launch& launch = fake().launches.emplace_back();
  launch.kernel = name;
  for (const CUlaunchAttribute& attribute : attributes) launch.attributes.push_back(attribute.id);
  on(stream);
  if (kernel->run != nullptr) kernel->run(arguments);
  return CUDA_SUCCESS;
}
CUresult launch(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream stream, void** arguments, void** /*extra*/) {
  return launch_with({}, function, stream, arguments);
}
CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** /*extra*/) {
  return launch_with({config->attrs, config->numAttrs}, function, config->hStream, arguments);
}
CUresult module_load(CUmodule* module, const void* image) {
  called("cuModuleLoadData");
  if (fake().module_load_answer != CUDA_SUCCESS) return fake().module_load_answer;
  *module = reinterpret_cast<CUmodule>(new FakeModule{image});
  fake().modules.insert(*module);
  return CUDA_SUCCESS;
}
CUresult module_unload(CUmodule module) {
  called("cuModuleUnload");
  if (fake().modules.erase(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete reinterpret_cast<FakeModule*>(module);
  return CUDA_SUCCESS;
}
CUresult module_function(CUfunction* function, CUmodule module, const char* name) {
  static Kernel unknown{};
  called("cuModuleGetFunction");
  const void* image = reinterpret_cast<FakeModule*>(module)->image;
  auto* kernel = is_fake(image) ? static_cast<const Kernel*>(image) : &unknown;
  while (kernel->name != nullptr && std::string{name} != kernel->name) ++kernel;
  if (kernel->name == nullptr && kernel != &unknown) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<Kernel*>(kernel));
  return CUDA_SUCCESS;
}
CUresult set_attribute(CUfunction /*function*/, CUfunction_attribute /*attribute*/, int /*value*/) {
  called("cuFuncSetAttribute");
  return CUDA_SUCCESS;
}
CUresult get_attribute(int* value, CUfunction_attribute /*attribute*/, CUfunction /*function*/) {
  called("cuFuncGetAttribute");
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult error_text(CUresult /*code*/, const char** text) {
  *text = "the fake's error";
  return CUDA_SUCCESS;
}

}  // namespace

FakeCuda& FakeCuda::instance() {
  static auto* fake = new FakeCuda;
  return *fake;
}

const aoti::CudaFunctions& FakeCuda::functions() {
  static constexpr aoti::CudaFunctions kFunctions{
      .available = available,
      .error = error,
      .enter = enter,
      .leave = leave,
      .native = native,
      .upload = upload,
      .device_attribute = device_attribute,
      .get_device = get_device,
      .set_device = set_device,
      .get_last_error = get_last_error,
      .get_error_string = get_error_string,
      .allocate = allocate,
      .free = free,
      .stream_create = stream_create,
      .stream_synchronize = stream_synchronize,
      .copy = copy,
      .copy_2d = copy_2d,
      .fill = fill,
      .event_create = event_create,
      .event_destroy = event_destroy,
      .event_query = event_query,
      .event_record = event_record,
      .event_synchronize = event_synchronize,
      .launch_kernel = launch,
      .launch_kernel_ex = launch_ex,
      .module_load = module_load,
      .module_unload = module_unload,
      .module_function = module_function,
      .function_set_attribute = set_attribute,
      .function_get_attribute = get_attribute,
      .error_string = error_text,
      .error_name = error_text,
  };
  return kFunctions;
}

void FakeCuda::reset() {
  counts.clear();
  log.clear();
  launches.clear();
  streams.clear();
  module_load_answer = CUDA_SUCCESS;
  allocations_left = -1;
  synchronize_answer = cudaSuccess;
}

int FakeCuda::count(const std::string& name) const {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace tandem::testing
