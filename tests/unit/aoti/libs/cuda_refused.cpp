// For CUDA: a run that fails. AOTI_REFUSED says why:
//   1 a copy between dtypes, which the GPU does not do        2 a check of the library's own, of its data
//   3 sizes that do not fit, of a product                     4 a rank that no tensor has
//   5 a result of another dtype than the program's
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

extern "C" {
std::int32_t aoti_torch_copy_(AtenTensorOpaque*, AtenTensorOpaque*, std::int32_t);
std::int32_t aoti_torch_cuda_mm_out(AtenTensorOpaque*, AtenTensorOpaque*, AtenTensorOpaque*);
}

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 1, .run = [](Call& call) {
            Tensor y = Call::empty(AOTI_REFUSED == 5 ? kLong : kFloat, {2, 3});
            if (AOTI_REFUSED == 1) {
              const Tensor numbers = Call::empty(kLong, {2, 3});
              require(aoti_torch_copy_(y.get(), numbers.get(), 0), "copy_");
            }
            if (AOTI_REFUSED == 2) {
              aoti_torch_check(*call.input(0).data<float>() != 0, "run", "model.cpp", 1, "the first number is 0");
            }
            if (AOTI_REFUSED == 3) {
              require(aoti_torch_cuda_mm_out(y.get(), call.input(0).get(), call.input(0).get()), "mm_out");
            }
            if (AOTI_REFUSED == 4) {
              const std::int64_t one = 1;
              Handle out = nullptr;
              require(aoti_torch_empty_strided(17, &one, nullptr, kFloat, kDeviceType, kDeviceIndex, &out), "empty");
            }
            call.set_output(0, std::move(y));
          }};
}
