#include <cuda_runtime.h>

#include "smooth.h"

namespace {

/// One thread for each pixel.
__global__ void smooth_pixels(const float* x, float* y, std::int64_t height, std::int64_t width) {
  const std::int64_t row = blockIdx.y * blockDim.y + threadIdx.y;
  const std::int64_t column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= height || column >= width) return;
  float sum = 0;
  for (std::int64_t plane = 0; plane < 3 * height; plane += height) {
    for (std::int64_t r = row - 1; r <= row + 1; ++r) {
      for (std::int64_t c = column - 1; c <= column + 1; ++c) {
        const bool inside = r >= 0 && r < height && c >= 0 && c < width;
        if (inside) sum += x[(plane + r) * width + c];
      }
    }
  }
  y[row * width + column] = sum / 27;
}

}  // namespace

std::int32_t smooth(const float* x, float* y, std::int64_t height, std::int64_t width, void* stream) {
  const dim3 threads(16, 16);
  const dim3 blocks(static_cast<unsigned>((width + 15) / 16), static_cast<unsigned>((height + 15) / 16));
  smooth_pixels<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(x, y, height, width);
  return cudaGetLastError();
}
