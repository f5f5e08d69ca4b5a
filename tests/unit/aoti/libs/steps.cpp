// Allocates as its first input says: out = x + 1 in every mode, but by different sequences of temporaries.
//   0 two temporaries of one size, one after the other
//   1 the same sizes, both alive at once
//   2 a third temporary, of another size
//   3 the temporary itself is the result, the other one is dropped
//   4 fails halfway
//   5 keeps its first temporary for ever
#include "support/aoti_library/aoti_model.h"

namespace {

constexpr int kCount = 64;
void fill(const aoti_model::Tensor& to, const aoti_model::Tensor& from, float plus) {
  for (int i = 0; i < kCount; ++i) to.data<float>()[i] = from.data<float>()[i] + plus;
}

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 2, .outputs = 1, .run = [](Call& call) {
            const int mode = static_cast<int>(call.input(0).data<float>()[0]);
            const Tensor& x = call.input(1);
            Tensor first = Call::empty(kFloat, {kCount});
            fill(first, x, 0.25F);
            if (mode == 5) static_cast<void>(first.view({kCount}, {1}, 0).release());  // nobody ever deletes it
            if (mode == 4) throw std::runtime_error{"mode 4 fails"};
            Tensor second;
            if (mode == 1 || mode == 3) {
              second = Call::empty(kFloat, {kCount});
              fill(second, first, 0.25F);
              if (mode == 3) {
                fill(first, second, 0.5F);
                second.reset();
                Tensor unused = Call::empty(kFloat, {kCount});
                fill(unused, x, 1000);
                call.set_output(0, std::move(first));
                return;
              }
              fill(second, first, 0.25F);
              fill(first, second, 0.25F);
            } else {
              fill(first, first, 0.25F);
              Tensor copy = Call::empty(kFloat, {16});
              for (int i = 0; i < 16; ++i) copy.data<float>()[i] = first.data<float>()[i];
              copy.reset();
            }
            if (mode == 2) Call::empty(kFloat, {1024}).data<float>()[1023] = 0;
            Tensor out = Call::empty(kFloat, {kCount});
            fill(out, x, 1);
            call.set_output(0, std::move(out));
          }};
}
