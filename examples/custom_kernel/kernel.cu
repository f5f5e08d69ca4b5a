// kernel.cpp for CUDA: y = gain * x / (1 + |x|), enqueued on the stream of the call.
//
//   nvcc -O2 -std=c++20 -shared -Xcompiler -fPIC -I include examples/custom_kernel/kernel.cu -o kernel_cuda.so
#include <tandem/custom.h>

#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

namespace {

__global__ void squash(const float* x, float* y, int64_t count, float gain) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = gain * x[i] / (1 + fabsf(x[i]));
}

int32_t create(TandemCustomSetup* setup) {
  if (setup->argument_count != 2 || setup->arguments[0]->dtype != 6 || setup->blob_bytes != sizeof(float)) {
    std::snprintf(setup->error, setup->error_bytes, "squash takes float32 x and y, and a float as its blob");
    return 1;
  }
  setup->state = new float;
  std::memcpy(setup->state, setup->blob, sizeof(float));
  return 0;
}

void destroy(void* state) { delete static_cast<float*>(state); }

int32_t enqueue(void* state, TandemCustomCall* call) {
  const TandemCustomArgument& x = *call->arguments[0];
  int64_t count = 1;  // both are dense: the program plans them so
  for (int32_t d = 0; d < x.rank; ++d) count *= x.sizes[d];
  if (count == 0) return 0;
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  squash<<<blocks, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->arguments[1]->data), count,
      *static_cast<const float*>(state));
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) std::snprintf(call->error, call->error_bytes, "%s", cudaGetErrorString(code));
  return code;
}

}  // namespace

extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
  static const TandemCustomDelegate squash{.struct_size = sizeof squash,
                                           .version = TANDEM_CUSTOM_VERSION,
                                           .devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_CUDA),
                                           .flags = TANDEM_CUSTOM_CAPTURABLE,
                                           .create = create,
                                           .destroy = destroy,
                                           .shapes = nullptr,  // y has the size that the program fixes
                                           .scratch_bytes = nullptr,
                                           .enqueue = enqueue};
  return &squash;
}
