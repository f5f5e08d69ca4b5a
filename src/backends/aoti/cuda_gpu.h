#pragma once

#include "backends/aoti/cuda_functions.h"

#include <tandem/result.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace tandem::aoti {

/// What all containers on one GPU share: a stream for work that blocks, and the weights.
///
/// Lifetime: as long as the process.
/// Thread-safety: every member may be called from any thread.
class CudaGpu {
 public:
  /// Errors: NotSupported, no driver or no GPU; NotFound, naming the GPUs that there are; DeviceFault.
  [[nodiscard]] static Result<CudaGpu*> find(const CudaFunctions& functions, int index);

  [[nodiscard]] const CudaFunctions& functions() const noexcept { return functions_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  /// "cuda:0".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// "sm_90".
  [[nodiscard]] const std::string& architecture() const noexcept { return architecture_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }

  /// A copy of `bytes` in the GPU's memory: one for everybody who asks for the same place in memory, which is one key
  /// of one program's files, as long as anybody has it. Blocks. Lifetime: `bytes` outlive the copy.
  [[nodiscard]] Result<std::shared_ptr<std::byte>> place(std::span<const std::byte> bytes);

  /// Makes the GPU current for the calling thread, and restores the caller's.
  class Scope {
   public:
    explicit Scope(const CudaGpu& gpu) noexcept;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    const CudaFunctions& functions_;
    CudaFunctions::Caller caller_{};
    bool entered_;
  };

 private:
  CudaGpu(const CudaFunctions& functions, int index);
  [[nodiscard]] Status open();

  const CudaFunctions& functions_;
  int index_;
  std::string name_;
  std::string architecture_{};
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_{};
  std::map<std::pair<const std::byte*, std::size_t>, std::weak_ptr<std::byte>> placed_{};
};

}  // namespace tandem::aoti
