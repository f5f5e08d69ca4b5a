#include <tandem/cuda.h>

#include "device/cuda/cuda_device.h"

#include <type_traits>
#include <utility>

namespace tandem::cuda {
namespace {

static_assert(std::is_same_v<cudaStream_t, CUstream_st*> && std::is_same_v<cudaEvent_t, CUevent_st*>);

Error not_cuda(const char* what, DeviceId device) {
  return Error{ErrorCode::InvalidArgument, what}.with_expected("a CUDA device's", to_string(device));
}

}  // namespace

int device_count() noexcept { return device::cuda::device_count(); }

Result<Stream> borrow_stream(CUstream_st* stream) {
  TANDEM_TRY(auto borrowed, device::cuda::borrow(stream));
  return Stream{std::move(borrowed)};
}

Result<CUstream_st*> native_stream(StreamRef stream) {
  if (stream.device().type != DeviceType::Cuda) return not_cuda("the stream has no CUDA handle", stream.device());
  return device::cuda::native(stream.get());
}

Result<Event> borrow_event(CUevent_st* event, int device) {
  if (event == nullptr) return Error{ErrorCode::InvalidArgument, "a null event"};
  TANDEM_TRY(device::cuda::CudaDevice* const found, device::cuda::find_device(device));
  return device::cuda::CudaEvent::borrow(found->context(), event);
}

Result<CUevent_st*> native_event(const Event& event) {
  if (!event.defined()) return Error{ErrorCode::InvalidArgument, "an undefined event"};
  const device::Event& impl = *event.impl();
  if (impl.device().type != DeviceType::Cuda) return not_cuda("the event has no CUDA handle", impl.device());
  const auto& on_gpu = static_cast<const device::cuda::CudaEvent&>(impl);
  if (on_gpu.is_held()) {
    return Error{ErrorCode::InvalidState, "the host completes the event, and no CUDA stream can wait for that"};
  }
  return on_gpu.handle();
}

Result<Tensor> tensor_from_pointer(void* data, ScalarType dtype, std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides, std::function<void()> release) {
  TANDEM_TRY(const DeviceId owner, device::cuda::owner_of(data));
  return Tensor::from_blob(data, dtype, sizes, strides, std::move(release), owner);
}

}  // namespace tandem::cuda
