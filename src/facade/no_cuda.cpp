// tandem/cuda.h in a build without CUDA.
#include <tandem/cuda.h>

namespace tandem::cuda {
namespace {

Error no_cuda() { return Error{ErrorCode::NotSupported, "this build has no CUDA"}; }

}  // namespace

int device_count() noexcept { return 0; }
Result<Stream> borrow_stream(CUstream_st* /*stream*/) { return no_cuda(); }
Result<CUstream_st*> native_stream(StreamRef /*stream*/) { return no_cuda(); }
Result<Event> borrow_event(CUevent_st* /*event*/, int /*device*/) { return no_cuda(); }
Result<CUevent_st*> native_event(const Event& /*event*/) { return no_cuda(); }
Result<Tensor> tensor_from_pointer(void* /*data*/, ScalarType /*dtype*/, std::span<const std::int64_t> /*sizes*/,
                                   std::span<const std::int64_t> /*strides*/, std::function<void()> /*release*/) {
  return no_cuda();
}

}  // namespace tandem::cuda
