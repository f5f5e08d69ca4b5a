// For CUDA: out = weight * (x + 1) + count, then count += step, where step is folded from the weight: 10 * weight[0].
// x + 1 is a temporary.
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

namespace {

using fake_kernel::argument;

void plus_one(void** args) {
  for (int i = 0; i < 4; ++i) argument<float>(args, 0)[i] = argument<float>(args, 1)[i] + 1;
}
void weigh(void** args) {
  for (int i = 0; i < 4; ++i) {
    argument<float>(args, 0)[i] =
        argument<float>(args, 1)[i] * argument<float>(args, 2)[i] + argument<float>(args, 3)[0];
  }
}
void advance(void** args) { argument<float>(args, 0)[0] += argument<float>(args, 1)[0]; }

constexpr fake_kernel::Kernel kKernels[] = {
    {.name = "plus_one", .run = plus_one}, {.name = "weigh", .run = weigh}, {.name = "advance", .run = advance}, {}};

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 1,
          .run =
              [](Call& call) {
                Tensor plus = Call::empty(kFloat, {4});
                call.launch("plus_one", {plus.data<float>(), call.input(0).data<float>()});
                Tensor out = Call::empty(kFloat, {4});
                call.launch("weigh", {out.data<float>(), plus.data<float>(), call.constant(0), call.constant(1)});
                call.launch("advance", {call.constant(1), call.constant(2)});
                call.set_output(0, std::move(out));
              },
          .constants = {{"weight_internal", "layer.weight", 1, 4, false},
                        {"count_internal", "count", 2, 1, false},
                        {"step_internal", "", 4, 1, true}},
          .fold = [](float* const* constants) { constants[2][0] = 10 * constants[0][0]; },
          .kernels = kKernels};
}
