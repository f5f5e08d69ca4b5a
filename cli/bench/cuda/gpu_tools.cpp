#include "cli/bench/gpu_tools.h"

#include "device/cuda/cuda_device.h"

#include <tandem/cuda.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace tandem::cli::bench {
namespace {

namespace gpu = device::cuda;

Status checked(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return {};
  return gpu::cuda_error(code, call);
}

struct EventDeleter {
  using pointer = cudaEvent_t;
  void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
};
using UniqueEvent = std::unique_ptr<cudaEvent_t, EventDeleter>;

class CudaTimer final : public GpuTimer {
 public:
  static Result<std::unique_ptr<GpuTimer>> create(gpu::CudaDevice& device) {
    std::unique_ptr<CudaTimer> timer{new CudaTimer};
    for (UniqueEvent* event : {&timer->begin_, &timer->end_}) {
      cudaEvent_t made{};
      const cudaError_t code = device.with_current([&] { return cudaEventCreate(&made); });
      TANDEM_CHECK_OK(checked(code, "cudaEventCreate"));
      event->reset(made);
    }
    return std::unique_ptr<GpuTimer>{std::move(timer)};
  }

  Status begin(StreamRef stream) override { return record(begin_.get(), stream); }
  Status end(StreamRef stream) override { return record(end_.get(), stream); }
  Result<std::chrono::nanoseconds> elapsed() override {
    TANDEM_CHECK_OK(checked(cudaEventSynchronize(end_.get()), "cudaEventSynchronize"));
    float milliseconds = 0;
    TANDEM_CHECK_OK(checked(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime"));
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<float, std::milli>{milliseconds});
  }

 private:
  CudaTimer() = default;
  static Status record(cudaEvent_t event, StreamRef stream) {
    TANDEM_TRY(CUstream_st* const handle, tandem::cuda::native_stream(stream));
    return checked(cudaEventRecord(event, handle), "cudaEventRecord");
  }

  UniqueEvent begin_{};
  UniqueEvent end_{};
};

/// "580.159.04" from the line of the kernel's driver; empty without one.
std::string kernel_driver() {
  std::ifstream file{"/proc/driver/nvidia/version"};
  std::string word;
  while (file >> word) {
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos &&
        word.find('.') != std::string::npos)
      return word;
  }
  return {};
}

}  // namespace

std::optional<GpuFacts> gpu_facts(DeviceId device) {
  cudaDeviceProp properties{};
  if (device.type != DeviceType::Cuda || cudaGetDeviceProperties(&properties, device.index) != cudaSuccess) {
    return std::nullopt;
  }
  int version = 0;
  cudaDriverGetVersion(&version);
  GpuFacts facts{.name = properties.name, .driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)};
  if (const std::string driver = kernel_driver(); !driver.empty()) facts.driver += ", driver " + driver;
  return facts;
}

Result<std::unique_ptr<GpuTimer>> make_gpu_timer(DeviceId device) {
  if (device.type != DeviceType::Cuda) return std::unique_ptr<GpuTimer>{};
  TANDEM_TRY(gpu::CudaDevice* const found, gpu::find_device(device.index));
  return CudaTimer::create(*found);
}

}  // namespace tandem::cli::bench
