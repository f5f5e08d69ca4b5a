#pragma once

#include "backends/aoti/cuda_functions.h"

#include <tandem/backend.h>

#include <memory>

namespace tandem::aoti {

/// AOTInductor libraries whose code runs on a CUDA GPU, `CudaBackend` in programs.
///
/// Options: those of ExecuTorch's backend of this name are accepted. `use_shared_cuda_stream` changes nothing, because
/// the run says which stream it is on; `enable_cuda_graph_for_method` and `weight_sharing_across_methods` neither:
/// weights of one key are shared anyway.
/// Compile spec `method_name`: the method that keys are named after, where the payload is empty.
[[nodiscard]] std::shared_ptr<Backend> make_cuda_backend(const CudaFunctions& functions = cuda_functions());

}  // namespace tandem::aoti
