#include "backends/tensorrt/gpu_calls.h"

#include "device/stream.h"

namespace tandem::tensorrt {
namespace {

Error no_cuda() {
  return Error{ErrorCode::NotSupported, "this build has no CUDA, which TensorRT needs"}.with_expected(
      "a build with TANDEM_CUDA", "one without");
}

class NoGpuCalls final : public GpuCalls {
 public:
  Status available() const override { return no_cuda(); }
  void* native(device::Stream& /*stream*/) const noexcept override { return nullptr; }
  Result<std::unique_ptr<device::Stream>> make_stream(int /*index*/) const override { return no_cuda(); }

 private:
  Status call_on_device(int /*index*/, Status (* /*work*/)(void*), void* /*data*/) const override { return no_cuda(); }
};

}  // namespace

const GpuCalls& gpu_calls() {
  static const NoGpuCalls calls;
  return calls;
}

}  // namespace tandem::tensorrt
