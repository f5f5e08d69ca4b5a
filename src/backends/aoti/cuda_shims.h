#pragma once

#include "backends/aoti/shim_table.h"

#include <vector>

namespace tandem::aoti {

class CudaAotiDevice;

/// What libraries for CUDA get: the shims of every device, those of CUDA's own, and CUDA itself as far as their code
/// calls it, so that nothing of it reaches the legacy stream or waits for the device.
[[nodiscard]] const ShimTable& shim_table_cuda();

/// The groups that only CUDA has.
void add_cuda_runtime_shims(std::vector<Shim>& shims);
void add_cuda_driver_shims(std::vector<Shim>& shims);
void add_cuda_guard_shims(std::vector<Shim>& shims);
void add_cuda_matrix_shims(std::vector<Shim>& shims);
void add_cuda_convolution_shims(std::vector<Shim>& shims);

/// The device of the container that the calling thread is in. Null outside of calls.
/// Precondition: the library was opened with shim_table_cuda().
[[nodiscard]] CudaAotiDevice* calling_cuda() noexcept;

}  // namespace tandem::aoti
