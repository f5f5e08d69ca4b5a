// For CUDA: out = x + 1 of 4 floats, in one launch with programmatic stream serialization.
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

namespace {

void add_one(void** args) {
  using fake_kernel::argument;
  for (int i = 0; i < 4; ++i) argument<float>(args, 0)[i] = argument<float>(args, 1)[i] + 1;
}

constexpr fake_kernel::Kernel kKernels[] = {{.name = "only", .run = add_one}, {}};

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 1,
          .run =
              [](Call& call) {
                Tensor y = Call::empty(kFloat, {4});
                call.launch_overlapping("only", {y.data<float>(), call.input(0).data<float>()});
                call.set_output(0, std::move(y));
              },
          .kernels = kKernels};
}
