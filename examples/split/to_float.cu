// to_float.cpp for CUDA, enqueued on the stream of the call.
//
//   nvcc -std=c++20 -O2 -shared -Xcompiler -fPIC -I include examples/split/to_float.cu -o to_float.so
#include <tandem/custom.h>

#include <cuda_runtime.h>
#include <cstdio>

namespace {

struct Normalisation {
  float mean[3];
  float deviation[3];
};

/// One thread for each pixel.
__global__ void to_float(const uint8_t* x, float* y, int64_t pixels, Normalisation n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  for (int c = 0; c < 3; ++c) {
    y[c * pixels + i] = (static_cast<float>(x[3 * i + c]) / 255 - n.mean[c]) / n.deviation[c];
  }
}

int32_t create(TandemCustomSetup* setup) {
  constexpr int32_t kBytes = 0;
  constexpr int32_t kFloats = 6;
  if (setup->argument_count != 2 || setup->blob_bytes != sizeof(Normalisation) ||
      setup->arguments[0]->dtype != kBytes || setup->arguments[0]->rank != 3 || setup->arguments[1]->dtype != kFloats) {
    std::snprintf(setup->error, setup->error_bytes, "to_float takes uint8 [h, w, 3], float32, and six floats as blob");
    return 1;
  }
  setup->state = const_cast<void*>(setup->blob);  // holds as long as the state
  return 0;
}

int32_t enqueue(void* state, TandemCustomCall* call) {
  const TandemCustomArgument& x = *call->arguments[0];
  const int64_t pixels = x.sizes[0] * x.sizes[1];
  if (pixels == 0) return 0;
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((pixels + kThreads - 1) / kThreads);
  to_float<<<blocks, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const uint8_t*>(x.data), static_cast<float*>(call->arguments[1]->data), pixels,
      *static_cast<const Normalisation*>(state));
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) std::snprintf(call->error, call->error_bytes, "%s", cudaGetErrorString(code));
  return code;
}

}  // namespace

extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
  static const TandemCustomDelegate to_float{.struct_size = sizeof to_float,
                                             .version = TANDEM_CUSTOM_VERSION,
                                             .devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_CUDA),
                                             .flags = TANDEM_CUSTOM_CAPTURABLE,
                                             .create = create,
                                             .destroy = nullptr,
                                             .shapes = nullptr,  // y has the size that the program fixes
                                             .scratch_bytes = nullptr,
                                             .enqueue = enqueue};
  return &to_float;
}
