// For CUDA, as exports with triton.enable_pdl are: all launches but the middle one have programmatic stream
// serialization. Of 4 floats x: 0 is 8x + 7; 1 is x + 1 with its rows apart, in memory of its own.
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

namespace {

using fake_kernel::argument;

void add_one(void** args) {
  for (int i = 0; i < 4; ++i) argument<float>(args, 0)[i] = argument<float>(args, 1)[i] + 1;
}
void double_and_add(void** args) {
  for (int i = 0; i < 4; ++i) argument<float>(args, 0)[i] = 2 * argument<float>(args, 1)[i] + 1;
}

constexpr fake_kernel::Kernel kKernels[] = {{.name = "first", .run = double_and_add},
                                            {.name = "middle", .run = double_and_add},
                                            {.name = "last", .run = double_and_add},
                                            {.name = "aside", .run = add_one},
                                            {}};

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 2,
          .run =
              [](Call& call) {
                const Tensor& x = call.input(0);
                Tensor a = Call::empty(kFloat, {4});
                Tensor b = Call::empty(kFloat, {4});
                Tensor y = Call::empty(kFloat, {4});
                Tensor both = Call::empty(kFloat, {8});
                call.launch_overlapping("first", {a.data<float>(), x.data<float>()});
                call.launch("middle", {b.data<float>(), a.data<float>()});
                call.launch_overlapping("last", {y.data<float>(), b.data<float>()});
                call.launch_overlapping("aside", {both.data<float>(), x.data<float>()});
                call.set_output(0, std::move(y));
                call.set_output(1, both.view({4}, {1}, 0));
              },
          .kernels = kKernels};
}
