#pragma once

#include "backends/aoti/memory_source.h"

#include <tandem/scalar_type.h>
#include <tandem/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tandem::aoti {

/// Device numbers of the AOTInductor ABI.
/// Source: PyTorch c10/core/DeviceType.h.
inline constexpr std::int32_t kAtenCpu = 0;
inline constexpr std::int32_t kAtenCuda = 1;

class HandlePool;

/// Memory that handles share, counted. What merely borrows memory has no Storage.
///
/// Thread-safety: references may be taken and dropped from any thread.
struct Storage {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::atomic<std::uint32_t> references{0};
  std::int32_t slot = -1;  ///< Which allocation of its run it is.
  /// Called when the last reference is gone.
  void (*release)(Storage& storage, void* owner) noexcept = nullptr;
  void* owner = nullptr;

  void add_reference() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    // Nearly all storages have one handle; the last owner needs no read-modify-write.
    if (references.load(std::memory_order_acquire) == 1) {
      references.store(0, std::memory_order_relaxed);
    } else if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return;
    }
    release(*this, owner);
  }
};

/// A Storage of its own memory, with one reference. Null if memory is exhausted.
[[nodiscard]] Storage* make_storage(MemorySource& source, std::size_t bytes) noexcept;

/// What an AOTInductor library knows as `AtenTensorHandle`: a view of memory, one reference each.
///
/// Shapes: sizes and strides have `rank` entries, in elements, and may be read by the library through pointers.
struct alignas(64) AtenTensor {
  static constexpr std::uint32_t kLive = 0x7E45A11EU;

  std::uint32_t tag;  ///< kLive, or the handle was deleted.
  std::int32_t device_type;
  std::int32_t device_index;
  ScalarType dtype;
  std::uint8_t rank;
  bool defined;
  std::byte* base;  ///< First byte of the storage.
  std::size_t storage_bytes;
  std::int64_t offset;  ///< In elements.
  Storage* storage;     ///< Null: somebody else's memory.
  HandlePool* home;
  AtenTensor* next_free;
  std::int64_t sizes[kMaxRank];
  std::int64_t strides[kMaxRank];

  [[nodiscard]] std::byte* data() const noexcept {
    return offset == 0 || base == nullptr ? base : base + offset * static_cast<std::int64_t>(item_bytes(dtype));
  }
  [[nodiscard]] std::int64_t numel() const noexcept {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < rank; ++d) count *= sizes[d];
    return count;
  }
  [[nodiscard]] std::span<const std::int64_t> size_span() const noexcept { return {sizes, rank}; }
  [[nodiscard]] std::span<const std::int64_t> stride_span() const noexcept { return {strides, rank}; }
  [[nodiscard]] bool is_contiguous() const noexcept;
  /// Whether the elements fill a block of memory in some order of the dimensions.
  [[nodiscard]] bool is_dense() const noexcept;
};

/// Whether `handle` is one that Tandem gave out and that was not deleted since. (A pointer to unmapped memory can't be
/// told from a good one.)
[[nodiscard]] inline bool is_live(const AtenTensor* handle) noexcept {
  return handle != nullptr && reinterpret_cast<std::uintptr_t>(handle) % alignof(AtenTensor) == 0 &&
         handle->tag == AtenTensor::kLive;
}

/// Drops the handle and its reference to the storage. Precondition: is_live(&handle).
void delete_handle(AtenTensor& handle) noexcept;

/// Hands out handles and takes them back without touching the heap, once it has grown. When it ends, so do all its
/// handles: a container never deletes those of constants that others manage.
///
/// Thread-safety: none, except for `shared()`.
class HandlePool {
 public:
  HandlePool() noexcept = default;
  HandlePool(const HandlePool&) = delete;
  HandlePool& operator=(const HandlePool&) = delete;
  ~HandlePool();

  /// For handles that are made outside of any container's call.
  [[nodiscard]] static HandlePool& shared();

  /// A live, undefined handle. Throws bad_alloc.
  [[nodiscard]] AtenTensor& take();
  void give_back(AtenTensor& handle) noexcept;
  /// Handles that are out.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }

 private:
  static constexpr std::size_t kBlock = 16;

  void grow();

  std::vector<std::unique_ptr<AtenTensor[]>> blocks_;
  AtenTensor* free_ = nullptr;
  std::size_t live_ = 0;
  std::mutex* mutex_ = nullptr;  ///< Set in shared() only.
};

}  // namespace tandem::aoti
