// y = x * s: the smallest model with a tensor and a number.
#include "support/aoti_library/aoti_model.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 2, .outputs = 1, .run = [](Call& call) {
            const Tensor& x = call.input(0);
            double scale = 0;
            require(aoti_torch_item_float64(call.input(1).get(), &scale), "item_float64");
            const std::int64_t count = x.size(0);
            Tensor y = Call::empty(kFloat, {count});
            for (std::int64_t i = 0; i < count; ++i) {
              y.data<float>()[i] = x.data<float>()[i] * static_cast<float>(scale);
            }
            call.set_output(0, std::move(y));
          }};
}
