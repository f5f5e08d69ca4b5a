// out = x + 2, in two kernels launched with programmatic stream serialization. Only the second waits.
#include "kernels.h"

aoti_model::Model aoti_model::model() {
  return {
      .inputs = 1,
      .outputs = 1,
      .run =
          [](Call& call) {
            const std::int64_t count = call.input(0).size(0);
            Tensor between = Call::empty(kFloat, {count});
            Tensor y = Call::empty(kFloat, {count});
            call.launch_overlapping("add_early", {between.data<float>(), call.input(0).data<float>(), number(count)});
            call.launch_overlapping("add_after", {y.data<float>(), between.data<float>(), number(count)});
            call.set_output(0, std::move(y));
          },
      .kernels = kernels()};
}
