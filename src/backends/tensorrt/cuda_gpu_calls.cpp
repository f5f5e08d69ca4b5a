#include "backends/tensorrt/gpu_calls.h"

#include "device/cuda/cuda_device.h"

namespace tandem::tensorrt {
namespace {

namespace cuda = device::cuda;

class CudaGpuCalls final : public GpuCalls {
 public:
  Status available() const override {
    const auto device = cuda::find_device(0);
    return device.ok() ? Status{} : Status{device.error()};
  }
  void* native(device::Stream& stream) const noexcept override { return cuda::native(stream); }
  Result<std::unique_ptr<device::Stream>> make_stream(int index) const override {
    TANDEM_TRY(cuda::CudaDevice* const device, cuda::find_device(index));
    return device->make_stream();
  }

 private:
  Status call_on_device(int index, Status (*work)(void*), void* data) const override {
    const cuda::DeviceScope scope{index};
    if (scope.code() != cudaSuccess) return cuda::cuda_error(scope.code(), "making the GPU current");
    return work(data);
  }
};

}  // namespace

const GpuCalls& gpu_calls() {
  static const CudaGpuCalls calls;
  return calls;
}

}  // namespace tandem::tensorrt
