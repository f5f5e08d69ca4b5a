#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"

namespace tandem::aoti {
namespace {

/// A getter: `read(tensor)` goes to `*out` if the handle is good.
template <class T, class Read>
std::int32_t get(const char* shim, const AtenTensor* self, T* out, Read read) noexcept {
  if (!is_live(self)) return refuse_handle(shim);
  if (out == nullptr) return refuse_null(shim);
  *out = read(*self);
  return kShimOk;
}

std::int32_t get_data_ptr(AtenTensor* self, void** out) noexcept {
  return get("get_data_ptr", self, out, [](const AtenTensor& t) -> void* { return t.data(); });
}
std::int32_t get_const_data_ptr(AtenTensor* self, const void** out) noexcept {
  return get("get_const_data_ptr", self, out, [](const AtenTensor& t) -> const void* { return t.data(); });
}
std::int32_t get_sizes(AtenTensor* self, std::int64_t** out) noexcept {
  if (!is_live(self)) return refuse_handle("get_sizes");
  if (out == nullptr) return refuse_null("get_sizes");
  *out = self->sizes;
  return kShimOk;
}
std::int32_t get_strides(AtenTensor* self, std::int64_t** out) noexcept {
  if (!is_live(self)) return refuse_handle("get_strides");
  if (out == nullptr) return refuse_null("get_strides");
  *out = self->strides;
  return kShimOk;
}
std::int32_t get_dim(AtenTensor* self, std::int64_t* out) noexcept {
  return get("get_dim", self, out, [](const AtenTensor& t) { return std::int64_t{t.rank}; });
}
std::int32_t get_numel(AtenTensor* self, std::int64_t* out) noexcept {
  return get("get_numel", self, out, [](const AtenTensor& t) { return t.numel(); });
}
std::int32_t get_dtype(AtenTensor* self, std::int32_t* out) noexcept {
  return get("get_dtype", self, out, [](const AtenTensor& t) { return static_cast<std::int32_t>(t.dtype); });
}
std::int32_t get_device_type(AtenTensor* self, std::int32_t* out) noexcept {
  return get("get_device_type", self, out, [](const AtenTensor& t) { return t.device_type; });
}
std::int32_t get_device_index(AtenTensor* self, std::int32_t* out) noexcept {
  return get("get_device_index", self, out, [](const AtenTensor& t) { return t.device_index; });
}
std::int32_t get_layout(AtenTensor* self, std::int32_t* out) noexcept {
  return get("get_layout", self, out, [](const AtenTensor&) { return std::int32_t{0}; });  // strided
}
std::int32_t get_storage_offset(AtenTensor* self, std::int64_t* out) noexcept {
  return get("get_storage_offset", self, out, [](const AtenTensor& t) { return t.offset; });
}
std::int32_t get_storage_size(AtenTensor* self, std::int64_t* out) noexcept {
  return get("get_storage_size", self, out,
             [](const AtenTensor& t) { return static_cast<std::int64_t>(t.storage_bytes); });
}
std::int32_t get_storage_numel(AtenTensor* self, std::int64_t* out) noexcept {
  return get("get_storage_numel", self, out,
             [](const AtenTensor& t) { return static_cast<std::int64_t>(t.storage_bytes / item_bytes(t.dtype)); });
}
std::int32_t is_contiguous(AtenTensor* self, bool* out) noexcept {
  return get("is_contiguous", self, out, [](const AtenTensor& t) { return t.is_contiguous(); });
}
std::int32_t is_defined(AtenTensor* self, bool* out) noexcept {
  if (self == nullptr && out != nullptr) {  // a null handle is how generated code spells "no tensor"
    *out = false;
    return kShimOk;
  }
  return get("is_defined", self, out, [](const AtenTensor& t) { return t.defined; });
}

/// Element `dimension` of a list; negative dimensions count from the end.
std::int32_t get_extent(const char* shim, const AtenTensor* self, std::int64_t dimension, std::int64_t* out,
                        std::int64_t (AtenTensor::*list)[kMaxRank]) noexcept {
  if (!is_live(self)) return refuse_handle(shim);
  if (out == nullptr) return refuse_null(shim);
  if (dimension < 0) dimension += self->rank;
  if (dimension < 0 || dimension >= self->rank) return refuse_always(shim, "dimension out of range");
  *out = (self->*list)[dimension];
  return kShimOk;
}
std::int32_t get_size(AtenTensor* self, std::int64_t dimension, std::int64_t* out) noexcept {
  return get_extent("get_size", self, dimension, out, &AtenTensor::sizes);
}
std::int32_t get_stride(AtenTensor* self, std::int64_t dimension, std::int64_t* out) noexcept {
  return get_extent("get_stride", self, dimension, out, &AtenTensor::strides);
}

}  // namespace

void add_metadata_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_get_data_ptr", address_of(get_data_ptr)},
                                {"aoti_torch_get_mutable_data_ptr", address_of(get_data_ptr)},
                                {"aoti_torch_get_const_data_ptr", address_of(get_const_data_ptr)},
                                {"aoti_torch_get_sizes", address_of(get_sizes)},
                                {"aoti_torch_get_strides", address_of(get_strides)},
                                {"aoti_torch_get_size", address_of(get_size)},
                                {"aoti_torch_get_stride", address_of(get_stride)},
                                {"aoti_torch_get_dim", address_of(get_dim)},
                                {"aoti_torch_get_numel", address_of(get_numel)},
                                {"aoti_torch_get_dtype", address_of(get_dtype)},
                                {"aoti_torch_get_device_type", address_of(get_device_type)},
                                {"aoti_torch_get_device_index", address_of(get_device_index)},
                                {"aoti_torch_get_layout", address_of(get_layout)},
                                {"aoti_torch_get_storage_offset", address_of(get_storage_offset)},
                                {"aoti_torch_get_storage_size", address_of(get_storage_size)},
                                {"aoti_torch_get_storage_numel", address_of(get_storage_numel)},
                                {"aoti_torch_is_contiguous", address_of(is_contiguous)},
                                {"aoti_torch_is_defined", address_of(is_defined)},
                            });
}

}  // namespace tandem::aoti
