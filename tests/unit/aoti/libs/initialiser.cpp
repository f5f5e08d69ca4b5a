// Static initialisers, and destructors of static and of thread-local objects, that call shims.
#include "support/aoti_library/aoti_model.h"

namespace {

/// Its destructor is pending until the thread ends or the library is closed.
thread_local aoti_model::Tensor of_this_thread;  // NOLINT: the point of this library

aoti_model::Tensor made_by_initialiser = [] {  // NOLINT: the point of this library
  aoti_model::Tensor tensor = aoti_model::Call::empty(aoti_model::kFloat, {1});
  tensor.data<float>()[0] = 42;
  of_this_thread = aoti_model::Call::empty(aoti_model::kFloat, {1});
  return tensor;
}();

}  // namespace

aoti_model::Model aoti_model::model() {
  return {
      .inputs = 0, .outputs = 1, .run = [](Call& call) { call.set_output(0, made_by_initialiser.view({1}, {1}, 0)); }};
}
