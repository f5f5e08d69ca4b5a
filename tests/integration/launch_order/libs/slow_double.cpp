// out = 2x, late.
#include "kernels.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 1,
          .run =
              [](Call& call) {
                const std::int64_t count = call.input(0).size(0);
                Tensor y = Call::empty(kFloat, {count});
                call.launch("slow_double", {y.data<float>(), call.input(0).data<float>(), number(count)});
                call.set_output(0, std::move(y));
              },
          .kernels = kernels()};
}
