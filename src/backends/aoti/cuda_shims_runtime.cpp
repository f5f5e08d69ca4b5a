#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_shims.h"

#include <cstring>
#include <string>

/// The CUDA runtime as libraries see it.
namespace tandem::aoti {
namespace {

/// What `call(device)` answers; libraries have nothing to ask outside of their container's calls.
template <class Call>
cudaError_t in_call(Call&& call) noexcept {
  CudaAotiDevice* device = calling_cuda();
  return device == nullptr ? cudaErrorInitializationError : call(*device);
}

/// The same for what goes to a stream.
template <class Call>
cudaError_t in_order(const char* what, Call&& call) noexcept {
  return in_call(
      [&](CudaAotiDevice& device) { return device.may_enqueue(what) ? call(device) : cudaErrorNotSupported; });
}
/// The same for what waits for a stream.
template <class Call>
cudaError_t waiting(const char* what, Call&& call) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.may_wait(what) ? call(device) : cudaErrorNotSupported; });
}

/// Keeps the reason; the library only tells that something failed.
cudaError_t refuse_memory(std::size_t bytes, const CudaAotiDevice& device) noexcept {
  try {
    note_refusal("cudaMalloc: no " + std::to_string(bytes) + " bytes left on " + device.name(), ErrorCode::OutOfMemory);
  } catch (...) {  // no memory for the text
  }
  return cudaErrorMemoryAllocation;
}

cudaError_t refuse_device(int index, const CudaAotiDevice& device) noexcept {
  try {
    note_refusal("cudaSetDevice: GPU " + std::to_string(index) + ", the delegate runs on " + device.name(),
                 ErrorCode::IncompatibleDelegate);
  } catch (...) {  // no memory for the text
  }
  return cudaErrorInvalidDevice;
}

/// Memory of the container, which gives it back when it ends.
cudaError_t give(void** data, std::size_t bytes) noexcept {
  return in_call([&](CudaAotiDevice& device) {
    *data = device.allocate(bytes);
    return *data == nullptr ? refuse_memory(bytes, device) : cudaSuccess;
  });
}

/// The GPU may still use it; its next user is the same container, in the order of its runs.
cudaError_t give_back(void* data) noexcept {
  if (data == nullptr) return cudaSuccess;
  return in_call([&](CudaAotiDevice& device) {
    auto* bytes = static_cast<std::byte*>(data);
    if (!device.owns(bytes)) return cudaErrorInvalidValue;
    device.release(bytes);
    return cudaSuccess;
  });
}

cudaError_t note_failure(const Status& status) noexcept {
  if (status.ok()) return cudaSuccess;
  const Error& error = status.error();
  try {
    note_refusal(error.to_string(), error.code());
  } catch (...) {  // no memory for the text
  }
  const auto code = static_cast<cudaError_t>(error.native().code);
  return code == cudaSuccess ? cudaErrorUnknown : code;
}

/// Blocks, as its caller expects, but on a stream of the container's GPU that nobody captures.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) noexcept {
  if (bytes == 0) return cudaSuccess;
  return waiting("cudaMemcpy", [&](CudaAotiDevice& device) {
    const CudaFunctions& functions = device.functions();
    const auto* source = static_cast<const std::byte*>(from);
    switch (kind) {
      case cudaMemcpyHostToHost:
        std::memcpy(to, from, bytes);
        return cudaSuccess;
      case cudaMemcpyHostToDevice:
        return note_failure(functions.upload(device.gpu().index(), to, {source, bytes}));
      default: {
        const cudaStream_t stream = device.gpu().stream();
        const cudaError_t code = functions.copy(to, from, bytes, kind, stream);
        return code == cudaSuccess ? functions.stream_synchronize(stream) : code;
      }
    }
  });
}

cudaError_t copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) noexcept {
  return in_order("cudaMemcpyAsync", [&](CudaAotiDevice& device) {
    // A graph would copy what the host's memory holds when it runs, not what it holds now.
    const bool crosses = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost;
    if (crosses && !device.may_wait("cudaMemcpyAsync between host and device")) return cudaErrorNotSupported;
    return device.functions().copy(to, from, bytes, kind, device.stream_for(stream));
  });
}
cudaError_t fill_async(void* data, int value, std::size_t bytes, cudaStream_t stream) noexcept {
  return in_order("cudaMemsetAsync", [&](CudaAotiDevice& device) {
    return device.functions().fill(data, value, bytes, device.stream_for(stream));
  });
}
cudaError_t stream_synchronize(cudaStream_t stream) noexcept {
  return waiting("cudaStreamSynchronize", [&](CudaAotiDevice& device) {
    return device.functions().stream_synchronize(device.stream_for(stream));
  });
}

/// Without times: nobody measures with them.
cudaError_t event_create(cudaEvent_t* event) noexcept {
  return in_call(
      [&](CudaAotiDevice& device) { return device.functions().event_create(event, cudaEventDisableTiming); });
}
cudaError_t event_create_with_flags(cudaEvent_t* event, unsigned flags) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.functions().event_create(event, flags); });
}
cudaError_t event_destroy(cudaEvent_t event) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.functions().event_destroy(event); });
}
cudaError_t event_query(cudaEvent_t event) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.functions().event_query(event); });
}
cudaError_t event_record(cudaEvent_t event, cudaStream_t stream) noexcept {
  return in_order("cudaEventRecord", [&](CudaAotiDevice& device) {
    return device.functions().event_record(event, device.stream_for(stream));
  });
}
cudaError_t event_synchronize(cudaEvent_t event) noexcept {
  return waiting("cudaEventSynchronize",
                 [&](CudaAotiDevice& device) { return device.functions().event_synchronize(event); });
}

cudaError_t get_device(int* index) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.functions().get_device(index); });
}
cudaError_t set_device(int index) noexcept {
  return in_call([&](CudaAotiDevice& device) {
    return index == device.gpu().index() ? device.functions().set_device(index) : refuse_device(index, device);
  });
}
cudaError_t get_attribute(int* value, cudaDeviceAttr attribute, int index) noexcept {
  return in_call([&](CudaAotiDevice& device) { return device.functions().device_attribute(value, attribute, index); });
}
cudaError_t get_last_error() noexcept {
  return in_call([](CudaAotiDevice& device) { return device.functions().get_last_error(); });
}
const char* get_error_string(cudaError_t code) noexcept {
  const CudaAotiDevice* device = calling_cuda();
  return device == nullptr ? "a CUDA error" : device->functions().get_error_string(code);
}

}  // namespace

void add_cuda_runtime_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"cudaMalloc", address_of(give)},
                                {"cudaFree", address_of(give_back)},
                                {"cudaMemcpy", address_of(copy)},
                                {"cudaMemcpyAsync", address_of(copy_async)},
                                {"cudaMemsetAsync", address_of(fill_async)},
                                {"cudaStreamSynchronize", address_of(stream_synchronize)},
                                {"cudaEventCreate", address_of(event_create)},
                                {"cudaEventCreateWithFlags", address_of(event_create_with_flags)},
                                {"cudaEventDestroy", address_of(event_destroy)},
                                {"cudaEventQuery", address_of(event_query)},
                                {"cudaEventRecord", address_of(event_record)},
                                {"cudaEventSynchronize", address_of(event_synchronize)},
                                {"cudaGetDevice", address_of(get_device)},
                                {"cudaSetDevice", address_of(set_device)},
                                {"cudaDeviceGetAttribute", address_of(get_attribute)},
                                {"cudaGetLastError", address_of(get_last_error)},
                                {"cudaGetErrorString", address_of(get_error_string)},
                            });
}

}  // namespace tandem::aoti
