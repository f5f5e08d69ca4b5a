#include "backends/aoti/cuda_gpu.h"

#include <algorithm>
#include <utility>

namespace tandem::aoti {

Result<CudaGpu*> CudaGpu::find(const CudaFunctions& functions, int index) {
  using Key = std::pair<const CudaFunctions*, int>;
  static auto* gpus = new std::map<Key, std::unique_ptr<CudaGpu>>;  // never destroyed: methods may outlive statics
  static auto* mutex = new std::mutex;
  TANDEM_CHECK_OK(functions.available(index));
  const std::scoped_lock lock{*mutex};
  std::unique_ptr<CudaGpu>& gpu = (*gpus)[{&functions, index}];
  if (gpu == nullptr) {
    std::unique_ptr<CudaGpu> opened{new CudaGpu{functions, index}};
    TANDEM_CHECK_OK(opened->open());
    gpu = std::move(opened);
  }
  return gpu.get();
}

CudaGpu::CudaGpu(const CudaFunctions& functions, int index)
    : functions_{functions}, index_{index}, name_{"cuda:" + std::to_string(index)} {}

Status CudaGpu::open() {
  int major = 0;
  int minor = 0;
  const Scope scope{*this};
  cudaError_t code = functions_.device_attribute(&major, cudaDevAttrComputeCapabilityMajor, index_);
  if (code == cudaSuccess) code = functions_.device_attribute(&minor, cudaDevAttrComputeCapabilityMinor, index_);
  if (code != cudaSuccess) return functions_.error(code, "cudaDeviceGetAttribute").with_device(name_);
  architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
  code = functions_.stream_create(&stream_);
  if (code != cudaSuccess) return functions_.error(code, "cudaStreamCreateWithFlags").with_device(name_);
  return {};
}

Result<std::shared_ptr<std::byte>> CudaGpu::place(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::shared_ptr<std::byte>{};
  const std::scoped_lock lock{mutex_};
  std::erase_if(placed_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<std::byte>& known = placed_[{bytes.data(), bytes.size()}];
  if (auto copy = known.lock(); copy != nullptr) return copy;
  void* data = nullptr;
  {
    const Scope scope{*this};
    if (const cudaError_t code = functions_.allocate(&data, bytes.size()); code != cudaSuccess) {
      return functions_.error(code, "cudaMalloc")
          .with_expected(std::to_string(bytes.size()) + " bytes", "none left")
          .with_device(name_);
    }
  }
  std::shared_ptr<std::byte> copy{static_cast<std::byte*>(data), [this](std::byte* gone) {
                                    const Scope scope{*this};
                                    functions_.free(gone);
                                  }};
  TANDEM_CHECK_OK(functions_.upload(index_, data, bytes));
  known = copy;
  return copy;
}

CudaGpu::Scope::Scope(const CudaGpu& gpu) noexcept
    : functions_{gpu.functions_}, entered_{functions_.enter(gpu.index_, &caller_) == cudaSuccess} {}

CudaGpu::Scope::~Scope() {
  if (entered_) functions_.leave(caller_);
}

}  // namespace tandem::aoti
