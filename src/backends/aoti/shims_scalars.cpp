#include "backends/aoti/element.h"
#include "backends/aoti/geometry.h"
#include "backends/aoti/run_memory.h"
#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"

#include <cstring>
#include <span>

namespace tandem::aoti {
namespace {

/// The bytes of a tensor's only element: `data`, brought to `here` first if it is on a device.
const std::byte* element_bytes(const AtenTensor& tensor, std::span<std::byte> here) noexcept {
  if (tensor.device_type == kAtenCpu) return tensor.data();
  return current_device().read(here.data(), tensor.data(), item_bytes(tensor.dtype)) ? here.data() : nullptr;
}

constexpr std::size_t kWidestElement = 16;

/// The only element of a tensor, converted from the dtype that it really has: generated code reads bool tensors
/// through item_int64.
template <class T>
std::int32_t item(AtenTensor* self, T* out) noexcept {
  constexpr const char* kShim = "item";
  if (!is_live(self)) return refuse_handle(kShim);
  if (out == nullptr) return refuse_null(kShim);
  if (self->numel() != 1 || self->data() == nullptr) return refuse(kShim, "the tensor has not exactly one element");
  alignas(kWidestElement) std::byte here[kWidestElement];
  const std::byte* data = element_bytes(*self, here);
  if (data == nullptr) return refuse(kShim, "the element could not be read from the device");
  return read_element(self->dtype, data, *out) ? kShimOk : refuse_always(kShim, "dtype is not a real number");
}

/// Reduced floats leave as their bits.
template <class T>
std::int32_t item_bits(AtenTensor* self, std::uint16_t* out) noexcept {
  if (out == nullptr) return refuse_null("item");
  T value;
  const std::int32_t status = item(self, &value);
  if (status == kShimOk) *out = value.bits;
  return status;
}

std::int32_t item_complex64(AtenTensor* self, ComplexNumber<float>* out) noexcept {
  constexpr const char* kShim = "item_complex64";
  if (!is_live(self)) return refuse_handle(kShim);
  if (out == nullptr) return refuse_null(kShim);
  if (self->dtype != ScalarType::ComplexFloat) {
    out->imaginary = 0;
    return item(self, &out->real);
  }
  if (self->numel() != 1 || self->data() == nullptr) return refuse(kShim, "the tensor has not exactly one element");
  alignas(kWidestElement) std::byte here[kWidestElement];
  const std::byte* data = element_bytes(*self, here);
  if (data == nullptr) return refuse(kShim, "the element could not be read from the device");
  std::memcpy(out, data, sizeof *out);
  return kShimOk;
}

/// A 0-d tensor of its own memory, on the host.
template <ScalarType kType, class T>
std::int32_t scalar_to_tensor(T value, AtenTensor** out) noexcept {
  constexpr const char* kShim = "scalar_to_tensor";
  if (out == nullptr) return refuse_null(kShim);
  return guarded(kShim, [&] {
    AtenTensor& handle = take_handle();
    handle.dtype = kType;
    CallState* call = current_call();
    const bool planned = call != nullptr && call->run != nullptr && call->device->runs_on_host();
    handle.storage = planned ? call->run->allocate(sizeof value, kType) : make_storage(*host_device(), sizeof value);
    if (handle.storage == nullptr) {
      delete_handle(handle);
      return refuse(kShim, "out of memory");
    }
    handle.base = handle.storage->data;
    handle.storage_bytes = sizeof value;
    handle.defined = true;
    std::memcpy(handle.base, &value, sizeof value);
    *out = &handle;
    return kShimOk;
  });
}

}  // namespace

void add_scalar_shims(std::vector<Shim>& shims) {
  using enum ScalarType;
  shims.insert(
      shims.end(),
      {
          {"aoti_torch_item_float16", address_of(item_bits<aoti::Half>)},
          {"aoti_torch_item_bfloat16", address_of(item_bits<aoti::BFloat16>)},
          {"aoti_torch_item_float32", address_of(item<float>)},
          {"aoti_torch_item_float64", address_of(item<double>)},
          {"aoti_torch_item_uint8", address_of(item<std::uint8_t>)},
          {"aoti_torch_item_uint16", address_of(item<std::uint16_t>)},
          {"aoti_torch_item_uint32", address_of(item<std::uint32_t>)},
          {"aoti_torch_item_uint64", address_of(item<std::uint64_t>)},
          {"aoti_torch_item_int8", address_of(item<std::int8_t>)},
          {"aoti_torch_item_int16", address_of(item<std::int16_t>)},
          {"aoti_torch_item_int32", address_of(item<std::int32_t>)},
          {"aoti_torch_item_int64", address_of(item<std::int64_t>)},
          {"aoti_torch_item_bool", address_of(item<bool>)},
          {"aoti_torch_item_complex64", address_of(item_complex64)},
          {"aoti_torch_scalar_to_tensor_float32", address_of(scalar_to_tensor<Float, float>)},
          {"aoti_torch_scalar_to_tensor_float64", address_of(scalar_to_tensor<Double, double>)},
          {"aoti_torch_scalar_to_tensor_uint8", address_of(scalar_to_tensor<Byte, std::uint8_t>)},
          {"aoti_torch_scalar_to_tensor_uint16", address_of(scalar_to_tensor<UInt16, std::uint16_t>)},
          {"aoti_torch_scalar_to_tensor_uint32", address_of(scalar_to_tensor<UInt32, std::uint32_t>)},
          {"aoti_torch_scalar_to_tensor_uint64", address_of(scalar_to_tensor<UInt64, std::uint64_t>)},
          {"aoti_torch_scalar_to_tensor_int8", address_of(scalar_to_tensor<Char, std::int8_t>)},
          {"aoti_torch_scalar_to_tensor_int16", address_of(scalar_to_tensor<Short, std::int16_t>)},
          {"aoti_torch_scalar_to_tensor_int32", address_of(scalar_to_tensor<Int, std::int32_t>)},
          {"aoti_torch_scalar_to_tensor_int64", address_of(scalar_to_tensor<Long, std::int64_t>)},
          {"aoti_torch_scalar_to_tensor_bool", address_of(scalar_to_tensor<Bool, bool>)},
          {"aoti_torch_scalar_to_tensor_complex64", address_of(scalar_to_tensor<ComplexFloat, ComplexNumber<float>>)},
          {"aoti_torch_scalar_to_tensor_complex128",
           address_of(scalar_to_tensor<ComplexDouble, ComplexNumber<double>>)},
      });
}

}  // namespace tandem::aoti
