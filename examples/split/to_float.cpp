// A kernel for CustomBackend: an image of bytes, [h, w, 3], becomes normalised floats, [1, 3, h, w]:
// y = (x / 255 - mean) / deviation, for each channel. The six numbers come from the program.
//
//   g++ -std=c++20 -O2 -shared -fPIC -I include examples/split/to_float.cpp -o to_float.so
#include <tandem/custom.h>

#include <cstdio>

namespace {

int32_t create(TandemCustomSetup* setup) {
  constexpr int32_t kBytes = 0;
  constexpr int32_t kFloats = 6;
  if (setup->argument_count != 2 || setup->blob_bytes != 6 * sizeof(float) || setup->arguments[0]->dtype != kBytes ||
      setup->arguments[0]->rank != 3 || setup->arguments[1]->dtype != kFloats) {
    std::snprintf(setup->error, setup->error_bytes, "to_float takes uint8 [h, w, 3], float32, and six floats as blob");
    return 1;
  }
  setup->state = const_cast<void*>(setup->blob);  // holds as long as the state
  return 0;
}

int32_t enqueue(void* state, TandemCustomCall* call) {
  const auto* mean = static_cast<const float*>(state);
  const float* deviation = mean + 3;
  const auto* x = static_cast<const uint8_t*>(call->arguments[0]->data);
  auto* y = static_cast<float*>(call->arguments[1]->data);
  const int64_t pixels = call->arguments[0]->sizes[0] * call->arguments[0]->sizes[1];
  for (int64_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) {
      y[c * pixels + i] = (static_cast<float>(x[3 * i + c]) / 255 - mean[c]) / deviation[c];
    }
  }
  return 0;
}

}  // namespace

extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
  static const TandemCustomDelegate to_float{.struct_size = sizeof to_float,
                                             .version = TANDEM_CUSTOM_VERSION,
                                             .devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST),
                                             .flags = 0,
                                             .create = create,
                                             .destroy = nullptr,
                                             .shapes = nullptr,  // y has the size that the program fixes
                                             .scratch_bytes = nullptr,
                                             .enqueue = enqueue};
  return &to_float;
}
