#include "backends/aoti/geometry.h"
#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"

#include <cstring>

namespace tandem::aoti {
namespace {

/// A view with the dtype and device of `self`, or with `dtype`.
std::int32_t make_view(const char* shim, const AtenTensor* self, const Geometry& geometry, std::int64_t offset,
                       ScalarType dtype, AtenTensor** out) noexcept {
  if (geometry.rank < 0 || geometry.rank > static_cast<std::int64_t>(kMaxRank)) return refuse_rank(shim, geometry.rank);
  return guarded(shim, [&] {
    AtenTensor& view = take_handle();
    view.dtype = dtype;
    view.device_type = self->device_type;
    view.device_index = self->device_index;
    view.defined = self->defined;
    if (const char* why = set_view(view, *self, geometry, offset); why != nullptr) {
      delete_handle(view);
      return refuse(shim, why);
    }
    *out = &view;
    return kShimOk;
  });
}

std::int32_t same_tensor(const char* shim, const AtenTensor* self, AtenTensor** out) noexcept {
  if (!is_live(self)) return refuse_handle(shim);
  if (out == nullptr) return refuse_null(shim);
  return make_view(shim, self, {self->rank, self->sizes, self->strides}, self->offset, self->dtype, out);
}

std::int32_t new_tensor_handle(AtenTensor* self, AtenTensor** out) noexcept {
  return same_tensor("new_tensor_handle", self, out);
}
std::int32_t assign_tensors_out(AtenTensor* source, AtenTensor** out) noexcept {
  return same_tensor("assign_tensors_out", source, out);
}

std::int32_t reinterpret_tensor(AtenTensor* self, std::int64_t rank, const std::int64_t* sizes,
                                const std::int64_t* strides, std::int64_t offset, AtenTensor** out) noexcept {
  constexpr const char* kShim = "_reinterpret_tensor";
  if (!is_live(self)) return refuse_handle(kShim);
  if (out == nullptr || (rank > 0 && (sizes == nullptr || strides == nullptr))) return refuse_null(kShim);
  return make_view(kShim, self, {rank, sizes, strides}, offset, self->dtype, out);
}

/// The rank stays.
std::int32_t as_strided(AtenTensor* self, const std::int64_t* sizes, const std::int64_t* strides,
                        AtenTensor** out) noexcept {
  constexpr const char* kShim = "as_strided";
  if (!is_live(self)) return refuse_handle(kShim);
  if (out == nullptr || (self->rank > 0 && (sizes == nullptr || strides == nullptr))) return refuse_null(kShim);
  return make_view(kShim, self, {self->rank, sizes, strides}, self->offset, self->dtype, out);
}

/// A tensor within another's storage, at a byte offset.
std::int32_t alloc_from_pool(AtenTensor* self, std::int64_t offset_bytes, std::int32_t dtype, std::int64_t rank,
                             const std::int64_t* sizes, const std::int64_t* strides, AtenTensor** out) noexcept {
  constexpr const char* kShim = "_alloc_from_pool";
  if (!is_live(self)) return refuse_handle(kShim);
  if (out == nullptr || (rank > 0 && (sizes == nullptr || strides == nullptr))) return refuse_null(kShim);
  const auto type = static_cast<ScalarType>(dtype);
  if (!is_scalar_type(dtype) || item_bytes(type) == 0) return refuse_always(kShim, "no element type");
  const auto item = static_cast<std::int64_t>(item_bytes(type));
  if (offset_bytes % item != 0) return refuse(kShim, "offset is no multiple of the element size");
  return make_view(kShim, self, {rank, sizes, strides}, offset_bytes / item, type, out);
}

std::int32_t create_from_blob(const char* shim, void* data, const Geometry& geometry, std::int64_t offset,
                              std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                              AtenTensor** out) noexcept {
  if (out == nullptr) return refuse_null(shim);
  if (!is_scalar_type(dtype) || item_bytes(static_cast<ScalarType>(dtype)) == 0)
    return refuse_always(shim, "no element type");
  if (offset < 0) return refuse(shim, "negative offset");
  if (geometry.rank < 0 || geometry.rank > static_cast<std::int64_t>(kMaxRank)) return refuse_rank(shim, geometry.rank);
  return guarded(shim, [&] {
    AtenTensor& handle = take_handle();
    handle.dtype = static_cast<ScalarType>(dtype);
    handle.device_type = device_type;
    handle.device_index = device_index;
    handle.offset = offset;
    handle.defined = true;
    handle.base = static_cast<std::byte*>(data);
    const char* why = set_geometry(handle, geometry);
    const auto reach = why == nullptr ? reach_bytes(handle) : std::nullopt;
    if (why == nullptr && !reach) why = "size overflows";
    if (why == nullptr && data == nullptr && *reach != 0) why = "null data for a tensor with elements";
    if (why != nullptr) {
      delete_handle(handle);
      return refuse(shim, why);
    }
    handle.storage_bytes = *reach;
    if (CallState* call = current_call(); call != nullptr && call->blobs != nullptr) call->blobs->push_back(&handle);
    *out = &handle;
    return kShimOk;
  });
}

std::int32_t create_tensor_from_blob(void* data, std::int64_t rank, const std::int64_t* sizes,
                                     const std::int64_t* strides, std::int64_t offset, std::int32_t dtype,
                                     std::int32_t device_type, std::int32_t device_index, AtenTensor** out) noexcept {
  return create_from_blob("create_tensor_from_blob", data, {rank, sizes, strides}, offset, dtype, device_type,
                          device_index, out);
}

std::int32_t create_tensor_from_blob_v2(void* data, std::int64_t rank, const std::int64_t* sizes,
                                        const std::int64_t* strides, std::int64_t offset, std::int32_t dtype,
                                        std::int32_t device_type, std::int32_t device_index, AtenTensor** out,
                                        std::int32_t layout, const std::uint8_t* /*opaque*/,
                                        std::int64_t /*opaque_bytes*/) noexcept {
  constexpr const char* kShim = "create_tensor_from_blob_v2";
  if (layout != 0)
    return refuse_always(kShim, "only strided layouts are supported");  // oneDNN's packed weights are opaque
  return create_from_blob(kShim, data, {rank, sizes, strides}, offset, dtype, device_type, device_index, out);
}

std::int32_t new_uninitialized_tensor(AtenTensor** out) noexcept {
  constexpr const char* kShim = "new_uninitialized_tensor";
  if (out == nullptr) return refuse_null(kShim);
  return guarded(kShim, [&] {
    *out = &take_handle();
    return kShimOk;
  });
}

/// `target` becomes another name of `source`'s memory.
std::int32_t assign_tensors(AtenTensor* source, AtenTensor* target) noexcept {
  constexpr const char* kShim = "assign_tensors";
  if (!is_live(source) || !is_live(target)) return refuse_handle(kShim);
  if (source->storage != nullptr) source->storage->add_reference();
  Storage* old = target->storage;
  target->dtype = source->dtype;
  target->device_type = source->device_type;
  target->device_index = source->device_index;
  target->rank = source->rank;
  target->defined = source->defined;
  target->base = source->base;
  target->storage_bytes = source->storage_bytes;
  target->offset = source->offset;
  target->storage = source->storage;
  std::memcpy(target->sizes, source->sizes, sizeof target->sizes);
  std::memcpy(target->strides, source->strides, sizeof target->strides);
  if (old != nullptr) old->drop_reference();
  return kShimOk;
}

std::int32_t delete_tensor_object(AtenTensor* self) noexcept {
  if (!is_live(self)) return refuse_handle("delete_tensor_object");
  delete_handle(*self);
  return kShimOk;
}

}  // namespace

void add_handle_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_new_tensor_handle", address_of(new_tensor_handle)},
                                {"aoti_torch_assign_tensors", address_of(assign_tensors)},
                                {"aoti_torch_assign_tensors_out", address_of(assign_tensors_out)},
                                {"aoti_torch__reinterpret_tensor", address_of(reinterpret_tensor)},
                                {"aoti_torch_as_strided", address_of(as_strided)},
                                {"aoti_torch__alloc_from_pool", address_of(alloc_from_pool)},
                                {"aoti_torch_create_tensor_from_blob", address_of(create_tensor_from_blob)},
                                {"aoti_torch_create_tensor_from_blob_v2", address_of(create_tensor_from_blob_v2)},
                                {"aoti_torch_new_uninitialized_tensor", address_of(new_uninitialized_tensor)},
                                {"aoti_torch_delete_tensor_object", address_of(delete_tensor_object)},
                            });
}

}  // namespace tandem::aoti
