// Static initialisers and destructors that call shims, as those of real libraries do.
#include "support/aoti_library/aoti_model.h"

namespace {

aoti_model::Tensor made_by_initialiser = [] {  // NOLINT: the point of this library
  aoti_model::Tensor tensor = aoti_model::Call::empty(aoti_model::kFloat, {1});
  tensor.data<float>()[0] = 42;
  return tensor;
}();

}  // namespace

aoti_model::Model aoti_model::model() {
  return {
      .inputs = 0, .outputs = 1, .run = [](Call& call) { call.set_output(0, made_by_initialiser.view({1}, {1}, 0)); }};
}
