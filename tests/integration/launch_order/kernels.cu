// One block each. Before Hopper no kernel starts before the one ahead of it has ended.

namespace {

__device__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

/// Lets the kernel behind it start at once, and writes long after that.
extern "C" __global__ void slow_double(float* out, const float* in, long long count) {
  let_next_start();
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < 3'000'000) {
  }
  for (long long i = threadIdx.x; i < count; i += blockDim.x) out[i] = 2 * in[i];
}

/// Never waits for the kernel before it.
extern "C" __global__ void add_early(float* out, const float* in, long long count) {
  let_next_start();
  for (long long i = threadIdx.x; i < count; i += blockDim.x) out[i] = in[i] + 1;
}

extern "C" __global__ void add_after(float* out, const float* in, long long count) {
  wait_for_previous();
  for (long long i = threadIdx.x; i < count; i += blockDim.x) out[i] = in[i] + 1;
}
