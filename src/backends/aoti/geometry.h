#pragma once

#include "backends/aoti/tensor_handle.h"

#include <cstdint>
#include <optional>

namespace tandem::aoti {

/// Sizes and strides as a library passes them. Null strides mean contiguous.
struct Geometry {
  std::int64_t rank = 0;
  const std::int64_t* sizes = nullptr;
  const std::int64_t* strides = nullptr;
};

/// Copies `geometry` into the handle. Null on success, else why it can't be.
[[nodiscard]] inline const char* set_geometry(AtenTensor& handle, const Geometry& geometry) noexcept {
  if (geometry.rank < 0 || geometry.rank > static_cast<std::int64_t>(kMaxRank)) return "rank is not within 0 to 16";
  if (geometry.rank != 0 && geometry.sizes == nullptr) return "sizes are missing";
  handle.rank = static_cast<std::uint8_t>(geometry.rank);
  for (std::size_t d = 0; d < handle.rank; ++d) {
    if (geometry.sizes[d] < 0) return "negative size";
    handle.sizes[d] = geometry.sizes[d];
    if (geometry.strides == nullptr) continue;
    if (geometry.strides[d] < 0) return "negative stride";
    handle.strides[d] = geometry.strides[d];
  }
  if (geometry.strides != nullptr) return nullptr;
  std::int64_t step = 1;
  for (std::size_t d = handle.rank; d-- > 0;) {
    handle.strides[d] = step;
    if (__builtin_mul_overflow(step, handle.sizes[d] > 1 ? handle.sizes[d] : 1, &step)) return "size overflows";
  }
  return nullptr;
}

/// Units: bytes from the storage's first byte to the end of the last element; nothing if that overflows.
[[nodiscard]] inline std::optional<std::size_t> reach_bytes(const AtenTensor& handle) noexcept {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < handle.rank; ++d) {
    if (handle.sizes[d] == 0) return 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(handle.sizes[d] - 1, handle.strides[d], &step) ||
        __builtin_add_overflow(elements, step, &elements)) {
      return std::nullopt;
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(elements, handle.offset, &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(item_bytes(handle.dtype)), &bytes)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(bytes);
}

/// Makes `view` refer to the same memory as `self`. Null on success, else why it can't be.
/// Precondition: `view` is new.
[[nodiscard]] inline const char* set_view(AtenTensor& view, const AtenTensor& self, const Geometry& geometry,
                                          std::int64_t offset) noexcept {
  if (offset < 0) return "negative offset";
  if (const char* why = set_geometry(view, geometry); why != nullptr) return why;
  view.offset = offset;
  const auto reach = reach_bytes(view);
  // What is merely borrowed tells no size of its own.
  if (!reach || (self.storage != nullptr && *reach > self.storage_bytes)) return "view exceeds its storage";
  view.base = self.base;
  view.storage_bytes = self.storage_bytes;
  view.storage = self.storage;
  if (view.storage != nullptr) view.storage->add_reference();
  return nullptr;
}

}  // namespace tandem::aoti
