#pragma once

#include "backends/aoti/cuda_functions.h"

#include <tandem/backend.h>

#include <memory>

namespace tandem::aoti {

/// AOTInductor libraries whose code runs on a CUDA GPU, `CudaBackend` in programs.
///
/// Options: those of ExecuTorch's backend of this name are accepted. `use_shared_cuda_stream` changes nothing, because
/// the run says which stream it is on, and `weight_sharing_across_methods` neither: weights of one key are shared
/// anyway. `enable_cuda_graph_for_method`, a comma-separated list, makes methods of these names that are loaded
/// afterwards prefer graphs; for one load it may be among the load's options. Compile spec `method_name`: the method
/// that keys are named after, where the payload is empty.
[[nodiscard]] std::shared_ptr<Backend> make_cuda_backend(const CudaFunctions& functions = cuda_functions());

}  // namespace tandem::aoti
