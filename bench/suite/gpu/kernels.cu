#include "bench/suite/gpu/kernels.h"

// The kernels of kernel_call.h, as run_on_host() computes them but for the order of sums. Plain ones: what is measured
// is what is around them.
namespace tandem::suite {
namespace {

constexpr unsigned kThreads = 128;  // of every block; a power of two

__device__ const float* floats(const void* data) { return static_cast<const float*>(data); }

__global__ void affine(KernelCall call) {
  const std::int64_t count = call.rows * call.columns;
  float* const out = static_cast<float*>(call.out);
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    float x = floats(call.in[0])[i];
    for (int r = 0; r < call.repeats; ++r) x = x * call.scale + call.amount;
    out[i] = x;
  }
}

__global__ void sum4(KernelCall call) {
  const std::int64_t count = call.rows * call.columns;
  float* const out = static_cast<float*>(call.out);
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    out[i] = floats(call.in[0])[i] + floats(call.in[1])[i] + floats(call.in[2])[i] + floats(call.in[3])[i];
  }
}

/// A thread for each element of the output, a row of blocks for each of its rows.
__global__ void mat_mul(KernelCall call) {
  const std::int64_t c = blockIdx.x * blockDim.x + threadIdx.x;
  const std::int64_t r = blockIdx.y;
  if (c >= call.columns) return;
  const float* const a = floats(call.in[0]) + r * call.inner;
  const float* const b = floats(call.in[1]) + c;
  float sum = 0;
  for (std::int64_t k = 0; k < call.inner; ++k) sum += a[k] * b[k * call.columns];
  const std::int64_t i = r * call.columns + c;
  if (call.op == Op::MatMulGelu) {
    sum = 0.5F * sum * (1 + tanhf(0.7978845608F * (sum + 0.044715F * sum * sum * sum)));
  } else if (call.in[2] != nullptr) {
    sum += floats(call.in[2])[i];
  }
  static_cast<float*>(call.out)[i] = sum;
}

/// The sum of the threads' numbers, for every thread of the block.
__device__ float block_sum(float number) {
  __shared__ float parts[kThreads];
  parts[threadIdx.x] = number;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  const float sum = parts[0];
  __syncthreads();  // before the next call writes
  return sum;
}

__device__ float block_max(float number) {
  __shared__ float parts[kThreads];
  parts[threadIdx.x] = number;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] = fmaxf(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  const float largest = parts[0];
  __syncthreads();
  return largest;
}

/// A block for each row.
__global__ void layer_norm(KernelCall call) {
  const float* const x = floats(call.in[0]) + blockIdx.x * call.columns;
  float* const out = static_cast<float*>(call.out) + blockIdx.x * call.columns;
  float sum = 0;
  for (std::int64_t c = threadIdx.x; c < call.columns; c += kThreads) sum += x[c];
  const float mean = block_sum(sum) / call.columns;
  float squares = 0;
  for (std::int64_t c = threadIdx.x; c < call.columns; c += kThreads) squares += (x[c] - mean) * (x[c] - mean);
  const float deviation = sqrtf(block_sum(squares) / call.columns + 1e-5F);
  for (std::int64_t c = threadIdx.x; c < call.columns; c += kThreads) out[c] = (x[c] - mean) / deviation;
}

/// One head of one row, by one block: softmax of query . key over `count` rows, times the values. `stride`: from row to
/// row of keys and values.
__device__ void attend(const float* query, const float* keys, const float* values, std::int64_t stride,
                       std::int64_t count, std::int64_t width, float* out) {
  __shared__ float weights[kMostRows];
  const float scale = 1 / sqrtf(static_cast<float>(width));
  float largest = -INFINITY;
  for (std::int64_t j = threadIdx.x; j < count; j += kThreads) {
    float dot = 0;
    for (std::int64_t c = 0; c < width; ++c) dot += query[c] * keys[j * stride + c];
    weights[j] = dot * scale;
    largest = fmaxf(largest, weights[j]);
  }
  largest = block_max(largest);
  float sum = 0;
  for (std::int64_t j = threadIdx.x; j < count; j += kThreads) {
    weights[j] = expf(weights[j] - largest);
    sum += weights[j];
  }
  sum = block_sum(sum);  // every thread has written its weights
  for (std::int64_t c = threadIdx.x; c < width; c += kThreads) {
    float mixed = 0;
    for (std::int64_t j = 0; j < count; ++j) mixed += weights[j] * values[j * stride + c];
    out[c] = mixed / sum;
  }
}

/// A block for each row and head.
__global__ void attention(KernelCall call) {
  const std::int64_t width = call.columns / call.heads;
  const std::int64_t stride = 3 * call.columns;
  const std::int64_t r = blockIdx.x;
  const float* const first = floats(call.in[0]) + blockIdx.y * width;
  attend(first + r * stride, first + call.columns, first + 2 * call.columns, stride, r + 1, width,
         static_cast<float*>(call.out) + r * call.columns + blockIdx.y * width);
}

/// A block for each head, which touches nothing of the others.
__global__ void attend_cache(KernelCall call) {
  const std::int64_t width = call.columns / call.heads;
  const std::int64_t first = blockIdx.x * width;
  std::int64_t position = *static_cast<const std::int64_t*>(call.in[3]);
  if (position < 0) position = 0;
  if (position >= call.rows) position = call.rows - 1;
  const float* const row = floats(call.in[0]) + first;
  float* const keys = static_cast<float*>(const_cast<void*>(call.in[1])) + first;
  float* const values = static_cast<float*>(const_cast<void*>(call.in[2])) + first;
  for (std::int64_t c = threadIdx.x; c < width; c += kThreads) {
    keys[position * call.columns + c] = row[call.columns + c];
    values[position * call.columns + c] = row[2 * call.columns + c];
  }
  __syncthreads();
  attend(row, keys, values, call.columns, position + 1, width, static_cast<float*>(call.out) + first);
}

}  // namespace

CudaKernel cuda_kernel(const KernelCall& call) {
  CudaKernel kernel;
  kernel.block[0] = kThreads;
  switch (call.op) {
    case Op::Affine:
      kernel.symbol = reinterpret_cast<const void*>(&affine);
      kernel.grid[0] = static_cast<unsigned>(call.blocks);
      break;
    case Op::Sum4:
      kernel.symbol = reinterpret_cast<const void*>(&sum4);
      kernel.grid[0] = static_cast<unsigned>(call.blocks);
      break;
    case Op::MatMul:
    case Op::MatMulGelu:
      kernel.symbol = reinterpret_cast<const void*>(&mat_mul);
      kernel.grid[0] = static_cast<unsigned>((call.columns + kThreads - 1) / kThreads);
      kernel.grid[1] = static_cast<unsigned>(call.rows);
      break;
    case Op::LayerNorm:
      kernel.symbol = reinterpret_cast<const void*>(&layer_norm);
      kernel.grid[0] = static_cast<unsigned>(call.rows);
      break;
    case Op::Attention:
      kernel.symbol = reinterpret_cast<const void*>(&attention);
      kernel.grid[0] = static_cast<unsigned>(call.rows);
      kernel.grid[1] = static_cast<unsigned>(call.heads);
      break;
    case Op::AttendCache:
      kernel.symbol = reinterpret_cast<const void*>(&attend_cache);
      kernel.grid[0] = static_cast<unsigned>(call.heads);
      break;
  }
  return kernel;
}

}  // namespace tandem::suite
