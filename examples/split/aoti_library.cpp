// The ABI of AOTInductor's libraries around smooth(), as PyTorch's compiler makes them, and as small as it can be: no
// weights, no error texts. What it imports comes from whoever loads it: here AotiHostBackend or CudaBackend.
//
//   g++ -std=c++20 -O2 -shared -fPIC examples/split/{aoti_library,smooth}.cpp -o smooth.so
#include <cstddef>
#include <cstdint>

#include "smooth.h"

using Handle = struct AtenTensorOpaque*;

extern "C" {
std::int32_t aoti_torch_get_data_ptr(Handle, void** out);
std::int32_t aoti_torch_get_sizes(Handle, std::int64_t** out);
std::int32_t aoti_torch_get_device_type(Handle, std::int32_t* out);
std::int32_t aoti_torch_get_device_index(Handle, std::int32_t* out);
std::int32_t aoti_torch_empty_strided(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                                      std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                                      Handle* out);
std::int32_t aoti_torch_delete_tensor_object(Handle);
}

namespace {

struct Container {};

std::int32_t run(Handle input, Handle* output, void* stream) {
  void* x = nullptr;
  void* y = nullptr;
  std::int64_t* sizes = nullptr;
  std::int32_t device = 0;
  std::int32_t index = 0;
  if (aoti_torch_get_data_ptr(input, &x) != 0 || aoti_torch_get_sizes(input, &sizes) != 0 ||
      aoti_torch_get_device_type(input, &device) != 0 || aoti_torch_get_device_index(input, &index) != 0) {
    return 1;
  }
  const std::int64_t height = sizes[2];
  const std::int64_t width = sizes[3];
  const std::int64_t y_sizes[] = {1, 1, height, width};
  const std::int64_t y_strides[] = {height * width, height * width, width, 1};
  constexpr std::int32_t kFloat = 6;
  if (aoti_torch_empty_strided(4, y_sizes, y_strides, kFloat, device, index, output) != 0 ||
      aoti_torch_get_data_ptr(*output, &y) != 0) {
    return 1;
  }
  return smooth(static_cast<const float*>(x), static_cast<float*>(y), height, width, stream);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) std::int32_t

EXPORT AOTInductorModelContainerCreateWithDevice(void** out, std::size_t /*models*/, const char* /*device*/,
                                                 const char* /*cubins*/) {
  *out = new Container;
  return 0;
}
EXPORT AOTInductorModelContainerDelete(void* container) {
  delete static_cast<Container*>(container);
  return 0;
}
EXPORT AOTInductorModelContainerGetNumInputs(void* /*container*/, std::size_t* out) {
  *out = 1;
  return 0;
}
EXPORT AOTInductorModelContainerGetNumOutputs(void* /*container*/, std::size_t* out) {
  *out = 1;
  return 0;
}
EXPORT AOTInductorModelContainerGetNumConstants(void* /*container*/, std::size_t* out) {
  *out = 0;
  return 0;
}
/// Nobody asks these three where there are no constants, but they have to be there.
EXPORT AOTInductorModelContainerGetConstantName(void* /*container*/, std::size_t /*index*/, const char** /*out*/) {
  return 1;
}
EXPORT AOTInductorModelContainerGetConstantFromFolded(void* /*container*/, std::size_t /*index*/, bool* /*out*/) {
  return 1;
}
EXPORT AOTInductorModelContainerGetConstantDataSize(void* /*container*/, std::size_t /*index*/, std::size_t* /*out*/) {
  return 1;
}
/// Inputs are the library's to delete, outputs the caller's.
EXPORT AOTInductorModelContainerRunSingleThreaded(void* /*container*/, Handle* inputs, std::size_t /*input_count*/,
                                                  Handle* outputs, std::size_t /*output_count*/, void* stream,
                                                  void* /*proxy*/) {
  const std::int32_t code = run(inputs[0], &outputs[0], stream);
  aoti_torch_delete_tensor_object(inputs[0]);
  return code;
}
