#include "backends/aoti/cuda_shims.h"
namespace tandem::aoti {
void add_cuda_convolution_shims(std::vector<Shim>&) {}
}  // namespace tandem::aoti
