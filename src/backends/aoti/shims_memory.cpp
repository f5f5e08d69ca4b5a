#include "backends/aoti/aoti_device.h"
#include "backends/aoti/copy_elements.h"
#include "backends/aoti/geometry.h"
#include "backends/aoti/run_memory.h"
#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tandem::aoti {
namespace {

constexpr const char* kNoMemory = "out of memory";

/// New memory for a handle whose geometry, dtype and device are set: the run's plan if one is under way. What a
/// device's library keeps on the host is from the heap.
const char* allocate(AtenTensor& handle) noexcept {
  const auto bytes = reach_bytes(handle);
  if (!bytes) return "size overflows";
  CallState* call = current_call();
  AotiDevice& device = current_device();
  if (handle.device_type != device.aten_type()) {
    handle.storage = make_storage(*host_device(), *bytes);
  } else {
    handle.storage = call != nullptr && call->run != nullptr ? call->run->allocate(*bytes, handle.dtype)
                                                             : make_storage(device, *bytes);
  }
  if (handle.storage == nullptr) return kNoMemory;
  handle.base = handle.storage->data;
  handle.storage_bytes = *bytes;
  handle.defined = true;
  return nullptr;
}

std::int32_t make_empty(const char* shim, const Geometry& geometry, std::int32_t dtype, std::int32_t device_type,
                        AtenTensor** out) noexcept {
  if (out == nullptr) return refuse_null(shim);
  if (!is_scalar_type(dtype) || item_bytes(static_cast<ScalarType>(dtype)) == 0)
    return refuse_always(shim, "no element type");
  if (geometry.rank < 0 || geometry.rank > static_cast<std::int64_t>(kMaxRank)) return refuse_rank(shim, geometry.rank);
  const AotiDevice& device = current_device();
  const bool on_device = device_type == device.aten_type();
  if (!on_device && device_type != kAtenCpu) {
    return refuse_always(shim, "the device is neither the delegate's nor the CPU");
  }
  return guarded(shim, [&] {
    AtenTensor& handle = take_handle();
    handle.dtype = static_cast<ScalarType>(dtype);
    handle.device_type = device_type;
    handle.device_index = on_device ? device.aten_index() : -1;
    const char* why = set_geometry(handle, geometry);
    if (why == nullptr) why = allocate(handle);
    if (why != nullptr) {
      delete_handle(handle);
      const std::int32_t refused = refuse(shim, why);
      if (CallState* call = current_call(); call != nullptr && why == kNoMemory) {
        call->refusal_code = ErrorCode::OutOfMemory;
      }
      return refused;
    }
    *out = &handle;
    return kShimOk;
  });
}

std::int32_t empty_strided(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                           std::int32_t dtype, std::int32_t device_type, std::int32_t /*device_index*/,
                           AtenTensor** out) noexcept {
  return make_empty("empty_strided", {rank, sizes, strides}, dtype, device_type, out);
}

/// Pageable memory will do: whoever copies it stages it.
std::int32_t empty_strided_pinned(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                                  std::int32_t dtype, std::int32_t device_type, std::int32_t /*device_index*/,
                                  AtenTensor** out) noexcept {
  return make_empty("empty_strided_pinned", {rank, sizes, strides}, dtype, device_type, out);
}

bool is_on_host(const AtenTensor& target, const AtenTensor& source) noexcept {
  return target.device_type == kAtenCpu && source.device_type == kAtenCpu;
}

/// Tells if elements of one dtype become those of the other where the tensors are; a GPU converts none.
bool can_copy(const AtenTensor& target, const AtenTensor& source) noexcept {
  if (target.dtype == source.dtype) return true;
  const bool on_host = is_on_host(target, source) || current_device().runs_on_host();
  return on_host && can_convert(target.dtype, source.dtype);
}

std::int32_t refuse_conversion(const char* shim, const AtenTensor& target, const AtenTensor& source) noexcept {
  return guarded(shim, [&] {
    return refuse_always(shim, std::string{name_of(source.dtype)} + " is not converted to " +
                                   std::string{name_of(target.dtype)} +
                                   (is_on_host(target, source) ? "" : " on the device"));
  });
}

const char* copy_between(const AtenTensor& target, const AtenTensor& source) noexcept {
  return is_on_host(target, source) ? copy_elements(target, source) : current_device().copy_elements(target, source);
}

std::int32_t clone_with(const char* shim, const AtenTensor* self, const std::int64_t* strides,
                        AtenTensor** out) noexcept {
  AtenTensor* copy = nullptr;
  const std::int32_t status = make_empty(shim, {self->rank, self->sizes, strides},
                                         static_cast<std::int32_t>(self->dtype), self->device_type, &copy);
  if (status != kShimOk) return status;
  if (const char* why = copy_between(*copy, *self); why != nullptr) {
    delete_handle(*copy);
    return refuse(shim, why);
  }
  *out = copy;
  return kShimOk;
}

/// Strides stay where the elements fill their memory; otherwise the copy is contiguous.
std::int32_t clone(AtenTensor* self, AtenTensor** out) noexcept {
  if (!is_live(self)) return refuse_handle("clone");
  if (out == nullptr) return refuse_null("clone");
  return clone_with("clone", self, self->is_dense() ? self->strides : nullptr, out);
}

std::int32_t clone_preserve_strides(AtenTensor* self, AtenTensor** out) noexcept {
  if (!is_live(self)) return refuse_handle("clone_preserve_strides");
  if (out == nullptr) return refuse_null("clone_preserve_strides");
  return clone_with("clone_preserve_strides", self, self->strides, out);
}

std::int32_t copy_checked(const char* shim, const AtenTensor* target, const AtenTensor* source) noexcept {
  if (!is_live(target) || !is_live(source)) return refuse_handle(shim);
  if (!can_copy(*target, *source)) return refuse_conversion(shim, *target, *source);
  const char* why = copy_between(*target, *source);
  return why == nullptr ? kShimOk : refuse(shim, why);
}
std::int32_t copy_(AtenTensor* self, AtenTensor* source, std::int32_t /*non_blocking*/) noexcept {
  return copy_checked("copy_", self, source);
}
std::int32_t tensor_copy_(AtenTensor* source, AtenTensor* target) noexcept {
  return copy_checked("tensor_copy_", target, source);
}

std::int32_t zero_(AtenTensor* self) noexcept {
  if (!is_live(self)) return refuse_handle("zero_");
  AotiDevice& device = self->device_type == kAtenCpu ? *host_device() : current_device();
  if (self->is_dense()) {
    const auto bytes = static_cast<std::size_t>(self->numel()) * item_bytes(self->dtype);
    return bytes == 0 || device.clear(self->data(), bytes) ? kShimOk : refuse("zero_", "the device refused");
  }
  if (self->device_type != kAtenCpu) {
    return refuse_always("zero_", "the tensor's elements do not fill its memory");
  }
  alignas(16) std::byte zero[16]{};
  AtenTensor element{};
  element.dtype = self->dtype;
  element.base = zero;
  const char* why = copy_elements(*self, element);
  return why == nullptr ? kShimOk : refuse("zero_", why);
}

/// A debugging aid of generated code; integers are always finite.
std::int32_t check_inf_and_nan(const char* name, AtenTensor* self) noexcept {
  constexpr const char* kShim = "check_inf_and_nan";
  if (!is_live(self)) return refuse_handle(kShim);
  if (self->device_type != kAtenCpu) return kShimOk;  // looking would make every run wait
  return guarded(kShim, [&] {
    std::vector<double> numbers(static_cast<std::size_t>(self->numel()));
    AtenTensor copy{};
    copy.dtype = ScalarType::Double;
    copy.base = reinterpret_cast<std::byte*>(numbers.data());
    const char* why = set_geometry(copy, {self->rank, self->sizes, nullptr});
    if (why == nullptr) why = copy_elements(copy, *self);
    if (why != nullptr) return refuse(kShim, why);
    const bool finite = std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
    return finite ? kShimOk : refuse(kShim, std::string{name != nullptr ? name : "a tensor"} + " is not finite");
  });
}

}  // namespace

void add_memory_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_empty_strided", address_of(empty_strided)},
                                {"aoti_torch_empty_strided_pinned", address_of(empty_strided_pinned)},
                                {"aoti_torch_clone", address_of(clone)},
                                {"aoti_torch_clone_preserve_strides", address_of(clone_preserve_strides)},
                                {"aoti_torch_copy_", address_of(copy_)},
                                {"aoti_torch_tensor_copy_", address_of(tensor_copy_)},
                                {"aoti_torch_zero_", address_of(zero_)},
                                {"aoti_torch_check_inf_and_nan", address_of(check_inf_and_nan)},
                            });
}

}  // namespace tandem::aoti
