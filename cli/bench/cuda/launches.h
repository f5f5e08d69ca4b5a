#pragma once

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

/// The kernels that delegates of CudaBackend launch, recorded and launched again without Tandem.
namespace tandem::cli::bench::cuda {

/// One launch with its own copy of the arguments.
struct Launch {
  CUfunction function{};
  std::array<unsigned, 7> shape{};  ///< Grid, block, shared bytes.
  std::vector<std::vector<std::byte>> arguments{};
  std::vector<void*> pointers{};  ///< Into `arguments`.
};

/// A registry with CudaBackend alone, whose launches record_launches() sees.
[[nodiscard]] const BackendRegistry& recording_backends();

/// What methods that were loaded with recording_backends() launch on this thread while `run` runs. Launches of
/// libraries that delegates call (cuBLASLt, cuDNN) are not among them.
///
/// Lifetime: what is launched uses the memory of the run, which has to stay.
/// Errors: NotSupported, the driver does not tell the arguments of a kernel; what `run` returns.
[[nodiscard]] Result<std::vector<Launch>> record_launches(const std::function<Status()>& run);

/// Errors: BackendFailed, DeviceFault.
[[nodiscard]] Status launch_all(const std::vector<Launch>& launches, cudaStream_t stream);

struct GraphDeleter {
  using pointer = cudaGraphExec_t;
  void operator()(cudaGraphExec_t graph) const noexcept { cudaGraphExecDestroy(graph); }
};
using UniqueGraph = std::unique_ptr<cudaGraphExec_t, GraphDeleter>;

/// All launches as one graph, one after the other.
/// Errors: NotSupported, the driver cannot do it; OutOfMemory.
[[nodiscard]] Result<UniqueGraph> make_graph(const std::vector<Launch>& launches);

}  // namespace tandem::cli::bench::cuda
