#pragma once

#include "backends/aoti/cuda_functions.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tandem::testing {

/// Stands in for CUDA on machines without a GPU: one device, whose memory is host memory and whose streams have done
/// their work when they are given it. Kernels of test libraries (fake_kernel.h) run, others do nothing.
///
/// One for the process, because CUDA is.
/// Thread-safety: none.
struct FakeCuda {
  [[nodiscard]] static FakeCuda& instance();
  /// The table over instance().
  [[nodiscard]] static const aoti::CudaFunctions& functions();

  /// Forgets counts, log and planned failures; what is alive stays.
  void reset();
  /// Calls of one function since reset().
  [[nodiscard]] int count(const std::string& name) const;

  /// What native() makes of any stream.
  static inline const cudaStream_t kRunStream = reinterpret_cast<cudaStream_t>(0x1000);

  std::map<std::string, int> counts{};
  std::vector<std::string> log{};  ///< Calls in their order, "launch plus_one" for kernels.
  /// A kernel with the attributes that the driver got with it.
  struct Launch {
    std::string kernel{};
    std::vector<CUlaunchAttributeID> attributes{};
  };
  std::vector<Launch> launches{};              ///< In their order.
  std::set<cudaStream_t> streams{};            ///< That anything was enqueued on.
  std::map<std::byte*, std::size_t> blocks{};  ///< Device memory that is alive.
  std::set<CUmodule> modules{};                ///< That are loaded.
  std::set<cudaEvent_t> events{};              ///< That are alive.
  int entered = 0;                             ///< Scopes of the device that are open.

  // Planned failures.
  CUresult module_load_answer = CUDA_SUCCESS;    ///< Of every load.
  int allocations_left = -1;                     ///< Then there is no memory; -1: any number.
  cudaError_t synchronize_answer = cudaSuccess;  ///< Of every wait for a stream.
};

}  // namespace tandem::testing
