// y = weight[0] * x + weight[1], after many passes over the data that change nothing in the end: a long computation.
#include "support/aoti_library/aoti_model.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 1,
          .run =
              [](Call& call) {
                const float* weight = call.constant(0);
                const auto* x = call.input(0).data<float>();
                const std::int64_t count = call.input(0).size(0);
                Tensor out = Call::empty(kFloat, {count});
                auto* y = out.data<float>();
                std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(float));
                for (int pass = 0; pass < 300; ++pass) {
                  for (std::int64_t i = 0; i < count; ++i) y[i] = 0.5F * (y[i] + x[i]);  // exact: both are equal
                }
                for (std::int64_t i = 0; i < count; ++i) y[i] = weight[0] * y[i] + weight[1];
                call.set_output(0, std::move(out));
              },
          .constants = {{"weight_internal", "weight", 1, 2, false}}};
}
