// Imports functions that no runtime supplies.
#include "support/aoti_library/aoti_model.h"

extern "C" {
std::int32_t aoti_torch_cpu_no_such_operator(aoti_model::Handle);
std::int32_t aoti_torch_nor_this_one(aoti_model::Handle);
double Sleef_nosuchfunctiond4_u10(double);
}

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 1, .run = [](Call& call) {
            require(aoti_torch_cpu_no_such_operator(call.input(0).get()), "no_such_operator");
            require(aoti_torch_nor_this_one(call.input(0).get()), "nor_this_one");
            call.input(0).data<float>()[0] = static_cast<float>(Sleef_nosuchfunctiond4_u10(1));
          }};
}
