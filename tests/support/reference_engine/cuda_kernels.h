#pragma once

#include "support/reference_engine/reference_call.h"

#include <cuda_runtime_api.h>

namespace tandem::testing {

/// Enqueues kernel 0 or 1 of a run, as run_on_host() computes it. On the current device.
[[nodiscard]] cudaError_t launch_reference_kernel(cudaStream_t stream, const ReferenceCall& call, int kernel);

/// Enqueues a kernel of one thread that only takes time. On the current device.
[[nodiscard]] cudaError_t launch_spin(cudaStream_t stream, unsigned long long nanoseconds);

}  // namespace tandem::testing
