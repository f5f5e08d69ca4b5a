#pragma once

#include "backends/aoti/cuda_functions.h"
#include "support/simulated_gpu.h"

namespace tandem::testing {

/// CUDA over a simulated GPU: delegates of CudaBackend launch kernels of fake_kernel.h there. A launch with
/// programmatic stream serialization overtakes the kernel ahead of it, unless the kernel waits.
///
/// Lifetime: as long as the process.
[[nodiscard]] SimulatedGpu& simulated_gpu();
/// The table over simulated_gpu().
[[nodiscard]] const aoti::CudaFunctions& simulated_cuda();

}  // namespace tandem::testing
