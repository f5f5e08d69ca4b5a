#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/shim_guard.h"

#include <cstdint>

/// Devices and streams. A container runs on one GPU and one stream at a time, and both are in effect already when its
/// code runs: the guards of generated code have nothing to change.
namespace tandem::aoti {
namespace {

/// What the library gets for a guard; nobody looks at it.
void* const kGuard = reinterpret_cast<void*>(std::uintptr_t{1});

std::int32_t check_device(const char* shim, std::int32_t index) noexcept {
  const CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return refuse(shim, "not within a call of the delegate");
  // -1 is the current device.
  return index == -1 || index == device->gpu().index() ? kShimOk
                                                       : refuse_always(shim, "the delegate runs on another GPU");
}

std::int32_t make_guard(const char* shim, std::int32_t index, void** out) noexcept {
  if (out == nullptr) return refuse_null(shim);
  *out = kGuard;
  return check_device(shim, index);
}

std::int32_t create_cuda_guard(std::int32_t index, void** out) noexcept {
  return make_guard("create_cuda_guard", index, out);
}
std::int32_t create_device_guard(std::int32_t index, void** out) noexcept {
  return make_guard("create_device_guard", index, out);
}
std::int32_t cuda_guard_set_index(void* /*guard*/, std::int32_t index) noexcept {
  return check_device("cuda_guard_set_index", index);
}
std::int32_t device_guard_set_index(void* /*guard*/, std::int32_t index) noexcept {
  return check_device("device_guard_set_index", index);
}
std::int32_t create_cuda_stream_guard(void* /*stream*/, std::int32_t index, void** out) noexcept {
  return make_guard("create_cuda_stream_guard", index, out);
}
std::int32_t drop_guard(void* /*guard*/) noexcept { return kShimOk; }

std::int32_t current_stream(const char* shim, std::int32_t index, void** out) noexcept {
  if (out == nullptr) return refuse_null(shim);
  const std::int32_t status = check_device(shim, index);
  if (status == kShimOk) *out = calling_cuda()->stream();
  return status;
}
std::int32_t get_current_cuda_stream(std::int32_t index, void** out) noexcept {
  return current_stream("get_current_cuda_stream", index, out);
}
std::int32_t get_current_stream(std::int32_t index, void** out) noexcept {
  return current_stream("get_current_stream", index, out);
}
std::int32_t get_current_device_index(std::int32_t* out) noexcept {
  constexpr const char* kShim = "get_current_device_index";
  if (out == nullptr) return refuse_null(kShim);
  const std::int32_t status = check_device(kShim, -1);
  if (status == kShimOk) *out = calling_cuda()->gpu().index();
  return status;
}

}  // namespace

void add_cuda_guard_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_create_cuda_guard", address_of(create_cuda_guard)},
                                {"aoti_torch_delete_cuda_guard", address_of(drop_guard)},
                                {"aoti_torch_cuda_guard_set_index", address_of(cuda_guard_set_index)},
                                {"aoti_torch_create_cuda_stream_guard", address_of(create_cuda_stream_guard)},
                                {"aoti_torch_delete_cuda_stream_guard", address_of(drop_guard)},
                                {"aoti_torch_get_current_cuda_stream", address_of(get_current_cuda_stream)},
                                {"aoti_torch_create_device_guard", address_of(create_device_guard)},
                                {"aoti_torch_delete_device_guard", address_of(drop_guard)},
                                {"aoti_torch_device_guard_set_index", address_of(device_guard_set_index)},
                                {"aoti_torch_get_current_stream", address_of(get_current_stream)},
                                {"aoti_torch_delete_stream", address_of(drop_guard)},
                                {"aoti_torch_get_current_device_index", address_of(get_current_device_index)},
                            });
}

}  // namespace tandem::aoti
