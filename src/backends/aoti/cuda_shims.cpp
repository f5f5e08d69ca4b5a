#include "backends/aoti/cuda_shims.h"

#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_aoti_device.h"

#include <utility>

namespace tandem::aoti {

const ShimTable& shim_table_cuda() {
  static const ShimTable* table = [] {
    std::vector<Shim> shims;
    add_constant_shims(shims);
    add_metadata_shims(shims);
    add_handle_shims(shims);
    add_runtime_shims(shims);
    add_text_shims(shims);
    add_memory_shims(shims);
    add_scalar_shims(shims);
    add_cuda_runtime_shims(shims);
    add_cuda_driver_shims(shims);
    add_cuda_guard_shims(shims);
    add_cuda_matrix_shims(shims);
    add_cuda_convolution_shims(shims);
    return new ShimTable{std::move(shims)};  // never destroyed: loaded libraries point into it
  }();
  return *table;
}

CudaAotiDevice* calling_cuda() noexcept {
  CallState* call = current_call();
  return call == nullptr ? nullptr : static_cast<CudaAotiDevice*>(call->device);
}

}  // namespace tandem::aoti
