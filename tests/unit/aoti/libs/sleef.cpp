// Imports vector mathematics as exports with vector code do: by name, from no library in particular.
#include "support/aoti_library/aoti_model.h"

extern "C" double Sleef_sin_u10(double);

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 1, .run = [](Call& call) {
            Tensor y = Call::empty(kFloat, {1});
            y.data<float>()[0] = static_cast<float>(Sleef_sin_u10(static_cast<double>(call.input(0).data<float>()[0])));
            call.set_output(0, std::move(y));
          }};
}
