#pragma once

#include "bench/suite/kernel_call.h"

namespace tandem::suite {

/// A kernel of CUDA that computes a KernelCall, which is its only parameter.
struct CudaKernel {
  const void* symbol = nullptr;  ///< As cudaLaunchKernel takes it.
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
};
[[nodiscard]] CudaKernel cuda_kernel(const KernelCall& call);

inline constexpr unsigned kOps = 7;  ///< Different `op`.

}  // namespace tandem::suite
