// Imports functions of a library that is nowhere.
#include "support/aoti_library/aoti_model.h"

extern "C" {
int tandem_test_is_nowhere(int);
int tandem_test_is_nowhere_either(int);
}

aoti_model::Model aoti_model::model() {
  return {.inputs = static_cast<std::size_t>(tandem_test_is_nowhere(1)),
          .outputs = static_cast<std::size_t>(tandem_test_is_nowhere_either(1))};
}
