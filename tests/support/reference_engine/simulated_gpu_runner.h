#pragma once

#include "support/reference_engine/kernel_runner.h"
#include "support/simulated_gpu.h"

namespace tandem::testing {

/// Kernels on a SimulatedGpu, which touch nothing but its memory.
class SimulatedGpuRunner final : public KernelRunner {
 public:
  explicit SimulatedGpuRunner(SimulatedGpu& gpu) : gpu_{gpu} {}
  [[nodiscard]] DeviceType device_type() const noexcept override { return DeviceType::Cuda; }
  [[nodiscard]] Status launch(device::Stream& stream, const ReferenceCall& call, int kernel,
                              std::function<void(bool)> around) override {
    return SimulatedGpu::launch(StreamRef{stream}, [call, kernel, around = std::move(around)] {
      around(true);
      run_on_host(call, kernel);
      around(false);
    });
  }
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override { return gpu_.make_stream(); }

 private:
  SimulatedGpu& gpu_;
};

}  // namespace tandem::testing
