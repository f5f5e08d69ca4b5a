// Every way in which a result may come back: of a 2 x 3 input x,
//   0 new memory, planned strides        1 the handle of 0 once more     2 new memory, columns first
//   3 a view of the input                4 a view into own memory        5 a symbolic number
#include "support/aoti_library/aoti_model.h"

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 6, .run = [](Call& call) {
            const Tensor& x = call.input(0);
            const float* in = x.data<float>();
            Tensor doubled = Call::empty(kFloat, {2, 3});
            Tensor columns = Call::empty(kFloat, {2, 3}, {1, 2});
            Tensor both = Call::empty(kFloat, {12});
            for (int i = 0; i < 6; ++i) {
              doubled.data<float>()[i] = 2 * in[i];
              columns.data<float>()[i / 3 + 2 * (i % 3)] = 3 * in[i];
              both.data<float>()[i] = -1;
              both.data<float>()[6 + i] = 4 * in[i];
            }
            Handle number = nullptr;
            require(aoti_torch_scalar_to_tensor_int64(static_cast<std::int64_t>(in[0]), &number), "scalar_to_tensor");
            call.set_output(0, std::move(doubled));
            call.repeat_output(1, 0);
            call.set_output(2, std::move(columns));
            call.set_output(3, x.view({2, 3}, {3, 1}, 0));
            call.set_output(4, both.view({2, 3}, {3, 1}, 6));
            call.set_output(5, Tensor{number});
          }};
}
