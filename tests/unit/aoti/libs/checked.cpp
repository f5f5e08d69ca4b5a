// y = x with rows and columns of any number within bounds, and checks of its inputs as AOTInductor writes them: off
// unless the environment says otherwise when the image first runs. Every run that gets beyond them says so in the log;
// 13 rows are refused by the model itself.
#include "support/aoti_library/aoti_model.h"

#include <sstream>

extern "C" {
std::int32_t aoti_torch_get_dtype(AtenTensorOpaque*, std::int32_t*);
std::int32_t aoti_torch_get_strides(AtenTensorOpaque*, std::int64_t**);
void aoti_torch_warn(const char*, const char*, std::uint32_t, const char*);
}

namespace {

using aoti_model::Call;
using aoti_model::require;
using aoti_model::Tensor;

bool is_checking() {
  static const char* value = getenv("AOTI_RUNTIME_CHECK_INPUTS");
  static const bool result = value != nullptr && value[0] != '0';
  return result;
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::stringstream text;
  (text << ... << parts) << "\n";
  throw std::runtime_error(text.str());
}

std::int32_t dtype_of(const Tensor& tensor) {
  std::int32_t dtype = 0;
  require(aoti_torch_get_dtype(tensor.get(), &dtype), "get_dtype");
  return dtype;
}

std::int64_t stride_of(const Tensor& tensor, std::size_t axis) {
  std::int64_t* strides = nullptr;
  require(aoti_torch_get_strides(tensor.get(), &strides), "get_strides");
  return strides[axis];
}

void check_input_0(const Tensor& x) {
  if (dtype_of(x) != 6) {
    refuse("input_handles[0]: unmatched dtype, ", "expected: ", 6, "(at::kFloat), ", "but got: ", dtype_of(x));
  }
  if (x.size(0) != 3) refuse("input_handles[0]: unmatched dim value at 0, ", "expected: 3, ", "but got: ", x.size(0));
  if (stride_of(x, 0) != 1) {
    refuse("input_handles[0]: unmatched stride value at 0, ", "expected: 1, ", "but got: ", stride_of(x, 0));
  }
}

void check_input_1(const Tensor& x) {
  if (dtype_of(x) != 6) {
    refuse("input_handles[1]: unmatched dtype, ", "expected: ", 6, "(at::kFloat), ", "but got: ", dtype_of(x));
  }
  if (x.size(0) < 2) {
    refuse("input_handles[1]: dim value is too small at 0, ", "expected it to be >= 2, ", "but got: ", x.size(0));
  }
  if (x.size(0) > 16) {
    refuse("input_handles[1]: dim value is too large at 0, ", "expected to be <= 16, ", "but got: ", x.size(0));
  }
  if (x.size(1) != 4) refuse("input_handles[1]: unmatched dim value at 1, ", "expected: 4, ", "but got: ", x.size(1));
  if (x.size(2) < 0) {
    refuse("input_handles[1]: dim value is too small at 2, ", "expected it to be >= 0, ", "but got: ", x.size(2));
  }
  if (stride_of(x, 2) != 1) {
    refuse("input_handles[1]: unmatched stride value at 2, ", "expected: 1, ", "but got: ", stride_of(x, 2));
  }
}

void check_input_2(const Tensor& x) {
  if (dtype_of(x) != 4) {
    refuse("input_handles[2]: unmatched dtype, ", "expected: ", 4, "(at::kLong), ", "but got: ", dtype_of(x));
  }
  if (x.size(0) < 5) {
    refuse("input_handles[2]: dim value is too small at 0, ", "expected it to be >= 5, ", "but got: ", x.size(0));
  }
  if (stride_of(x, 0) != 1) {
    refuse("input_handles[2]: unmatched stride value at 0, ", "expected: 1, ", "but got: ", stride_of(x, 0));
  }
}

}  // namespace

aoti_model::Model aoti_model::model() {
  return {.inputs = 3, .outputs = 1, .run = [](Call& call) {
            if (is_checking()) {
              check_input_0(call.input(0));
              check_input_1(call.input(1));
              check_input_2(call.input(2));
            }
            if (call.input(1).size(0) == 13) throw std::runtime_error{"thirteen rows"};
            aoti_torch_warn("run", "checked.cpp", 1, "it computes");
            call.set_output(0, Call::empty(kFloat, {4}));
          }};
}
