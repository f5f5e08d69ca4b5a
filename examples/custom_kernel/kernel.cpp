// A kernel for the host: y = gain * x / (1 + |x|), element by element. The gain comes from the program.
//
//   g++ -O2 -shared -fPIC -I include examples/custom_kernel/kernel.cpp -o kernel.so
#include <tandem/custom.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

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
  const float gain = *static_cast<const float*>(state);
  const TandemCustomArgument& x = *call->arguments[0];
  const TandemCustomArgument& y = *call->arguments[1];
  int64_t count = 1;  // both are dense: the program plans them so
  for (int32_t d = 0; d < x.rank; ++d) count *= x.sizes[d];
  const auto* from = static_cast<const float*>(x.data);
  auto* to = static_cast<float*>(y.data);
  for (int64_t i = 0; i < count; ++i) to[i] = gain * from[i] / (1 + std::fabs(from[i]));
  return 0;
}

}  // namespace

extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
  static const TandemCustomDelegate squash{.struct_size = sizeof squash,
                                           .version = TANDEM_CUSTOM_VERSION,
                                           .devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST),
                                           .flags = 0,
                                           .create = create,
                                           .destroy = destroy,
                                           .shapes = nullptr,  // y has the size that the program fixes
                                           .scratch_bytes = nullptr,
                                           .enqueue = enqueue};
  return &squash;
}
