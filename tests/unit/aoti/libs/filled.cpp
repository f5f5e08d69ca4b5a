// y = n values of n: a symbolic number that decides how much is allocated.
#include "support/aoti_library/aoti_model.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 1, .run = [](Call& call) {
            double number = 0;
            require(aoti_torch_item_float64(call.input(0).get(), &number), "item_float64");
            const auto count = static_cast<std::int64_t>(number);
            Tensor y = Call::empty(kFloat, {count});
            for (std::int64_t i = 0; i < count; ++i) y.data<float>()[i] = static_cast<float>(number);
            call.set_output(0, std::move(y));
          }};
}
