#pragma once

#include "backends/aoti/cuda_gpu.h"
#include "support/delegate_runner.h"

#include <tandem/program.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace tandem::testing {

/// A method of a program whose steps are delegates of `CudaBackend` and copies between host and device, every value in
/// memory of its own on device 0, driven on one stream without the runtime. Methods with other operators load, but do
/// not run (NotSupported).
class CudaMethod {
 public:
  /// Failures to load are in status().
  CudaMethod(const aoti::CudaFunctions& functions, device::Stream& stream, std::shared_ptr<const Program> program,
             std::size_t method);
  CudaMethod(const CudaMethod&) = delete;
  CudaMethod& operator=(const CudaMethod&) = delete;
  ~CudaMethod();

  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] std::size_t delegate_count() const noexcept { return delegates_.size(); }
  /// One run: inputs in C order in, outputs in C order out; waits for them.
  [[nodiscard]] Status run(const std::vector<std::vector<std::byte>>& inputs,
                           const std::vector<std::vector<std::int64_t>>& sizes,
                           std::vector<std::vector<std::byte>>& outputs);

 private:
  struct Call;
  [[nodiscard]] Status load();
  [[nodiscard]] Status allocate_values();
  [[nodiscard]] Status load_calls();
  [[nodiscard]] Status call(Call& call);
  [[nodiscard]] Status check(cudaError_t code, const char* what) const;
  [[nodiscard]] void* allocate(std::size_t bytes);

  const aoti::CudaFunctions& functions_;
  device::Stream& stream_;
  std::shared_ptr<const Program> program_;
  std::size_t method_;
  std::optional<aoti::CudaGpu::Scope> current_;
  std::vector<std::unique_ptr<ArgumentMemory>> values_;  ///< Their addresses are the device's.
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<void*> memory_;
  std::vector<std::unique_ptr<std::byte[]>> host_memory_{};
  Status status_;
};

/// Loads a folder's program.pte and its *.ptd.
[[nodiscard]] Result<std::shared_ptr<const Program>> load_program(const std::filesystem::path& folder);

}  // namespace tandem::testing
