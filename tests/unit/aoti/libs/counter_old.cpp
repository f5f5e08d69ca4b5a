// As counter.cpp, but compiled by a torch that knows neither RunSingleThreaded nor user-managed constants.
#define AOTI_MODEL_OLD
#include "support/aoti_library/aoti_model.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 2,
          .run =
              [](Call& call) {
                const float* weight = call.constant(0);
                float* count = call.constant(1);
                Tensor out = Call::empty(kFloat, {4});
                for (int i = 0; i < 4; ++i) {
                  out.data<float>()[i] = weight[i] * call.input(0).data<float>()[i] + count[0];
                }
                count[0] += call.constant(2)[0];
                Handle address = nullptr;
                require(aoti_torch_scalar_to_tensor_int64(reinterpret_cast<std::int64_t>(weight), &address),
                        "scalar_to_tensor");
                call.set_output(0, std::move(out));
                call.set_output(1, Tensor{address});
              },
          .constants = {{"weight_internal", "layer.weight", 1, 4, false},
                        {"count_internal", "count", 2, 1, false},
                        {"step_internal", "", 4, 1, true}},
          .fold = [](float* const* constants) { constants[2][0] = 10 * constants[0][0]; }};
}
