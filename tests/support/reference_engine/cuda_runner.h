#pragma once

#include "device/cuda/cuda_device.h"
#include "support/reference_engine/cuda_kernels.h"
#include "support/reference_engine/kernel_runner.h"

namespace tandem::testing {

/// Kernels on a CUDA device.
class CudaRunner final : public KernelRunner {
 public:
  explicit CudaRunner(device::cuda::CudaDevice& device) : device_{device} {}
  [[nodiscard]] DeviceType device_type() const noexcept override { return DeviceType::Cuda; }
  [[nodiscard]] Status launch(device::Stream& stream, const ReferenceCall& call, int kernel,
                              std::function<void(bool)> /*around*/) override {
    const device::cuda::DeviceScope scope{device_.id().index};
    const cudaError_t code = launch_reference_kernel(device::cuda::native(stream), call, kernel);
    return code == cudaSuccess ? Status{} : Status{device::cuda::cuda_error(code, "launch_reference_kernel")};
  }
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override { return device_.make_stream(); }

 private:
  device::cuda::CudaDevice& device_;
};

}  // namespace tandem::testing
