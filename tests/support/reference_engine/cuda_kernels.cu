#include "support/reference_engine/cuda_kernels.h"

namespace tandem::testing {
namespace {

/// Spins before it reads, so that whoever does not wait for it reads too early.
__global__ void read_inputs(ReferenceCall call) {
  const long long start = clock64();
  while (clock64() - start < call.spin_cycles) {
  }
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < call.count; i += blockDim.x * gridDim.x) {
    call.scratch[i] = call.x[i];
  }
}

__global__ void write_outputs(ReferenceCall call) {
  const long long first = blockIdx.x * blockDim.x + threadIdx.x;
  const long long step = blockDim.x * gridDim.x;
  switch (call.op) {
    case ReferenceOp::Affine:
      for (long long i = first; i < call.count; i += step) call.out[i] = call.scale * call.scratch[i] + call.amount;
      return;
    case ReferenceOp::Add:
      for (long long i = first; i < call.count; i += step) {
        call.out[i] = call.scale * call.scratch[i] + call.y[i] + call.amount;
      }
      return;
    case ReferenceOp::Sum: {
      if (first != 0) return;
      float sum = 0;
      for (long long i = 0; i < call.count; ++i) sum += call.scratch[i];
      *call.out = call.scale * sum + call.amount;
      return;
    }
    case ReferenceOp::Cache: {
      long long last = *call.position;
      if (last < 0) last = 0;
      if (last >= call.rows) last = call.rows - 1;
      for (long long c = first; c < call.count; c += step) {
        call.cache[last * call.count + c] = call.scratch[c];
        float sum = 0;
        for (long long r = 0; r <= last; ++r) sum += call.cache[r * call.count + c];
        call.out[c] = sum;
      }
      return;
    }
  }
}

__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long start;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

}  // namespace

cudaError_t launch_spin(cudaStream_t stream, unsigned long long nanoseconds) {
  spin<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

cudaError_t launch_reference_kernel(cudaStream_t stream, const ReferenceCall& call, int kernel) {
  constexpr int kThreads = 128;
  const long long blocks = (call.count + kThreads - 1) / kThreads;
  const int grid = blocks < 1 ? 1 : blocks > 256 ? 256 : static_cast<int>(blocks);
  if (kernel == 0) {
    read_inputs<<<grid, kThreads, 0, stream>>>(call);
  } else {
    write_outputs<<<grid, kThreads, 0, stream>>>(call);
  }
  return cudaGetLastError();
}

}  // namespace tandem::testing
