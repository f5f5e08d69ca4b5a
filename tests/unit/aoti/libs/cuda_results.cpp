// For CUDA: every way in which a result may come back: of an n x 3 input x,
//   0 new memory, planned strides       1 new memory, columns first      2 a view of the input
//   3 a number, on the host             4 a view into own memory
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

namespace {

using fake_kernel::argument;

void fill(void** args) {
  const float* in = argument<float>(args, 3);
  const int rows = static_cast<int>(reinterpret_cast<std::intptr_t>(argument<void>(args, 4)));
  for (int i = 0; i < 3 * rows; ++i) {
    argument<float>(args, 0)[i] = 2 * in[i];
    argument<float>(args, 1)[i / 3 + rows * (i % 3)] = 3 * in[i];
    argument<float>(args, 2)[3 * rows + i] = 4 * in[i];
  }
}

constexpr fake_kernel::Kernel kKernels[] = {{.name = "fill", .run = fill}, {}};

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 1,
          .outputs = 5,
          .run =
              [](Call& call) {
                const Tensor& x = call.input(0);
                const std::int64_t rows = x.size(0);
                Tensor doubled = Call::empty(kFloat, {rows, 3});
                Tensor columns = Call::empty(kFloat, {rows, 3}, {1, rows});
                Tensor both = Call::empty(kFloat, {2 * rows, 3});
                call.launch("fill", {doubled.data<float>(), columns.data<float>(), both.data<float>(), x.data<float>(),
                                     reinterpret_cast<void*>(static_cast<std::intptr_t>(rows))});
                Handle number = nullptr;
                require(aoti_torch_scalar_to_tensor_int64(rows, &number), "scalar_to_tensor");
                call.set_output(0, std::move(doubled));
                call.set_output(1, std::move(columns));
                call.set_output(2, x.view({rows, 3}, {3, 1}, 0));
                call.set_output(3, Tensor{number});
                call.set_output(4, both.view({rows, 3}, {3, 1}, 3 * rows));
              },
          .kernels = kKernels};
}
