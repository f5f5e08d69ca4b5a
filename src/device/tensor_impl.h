#pragma once

#include "device/uses.h"

#include <tandem/tensor.h>

#include <array>
#include <atomic>

namespace tandem {

/// What the handles of one tensor share.
struct Tensor::Impl {
  std::atomic<std::uint32_t> references{1};
  ScalarType dtype = ScalarType::Float;
  std::uint8_t rank = 0;
  bool owns_data = false;
  DeviceId device{};
  void* data = nullptr;
  std::size_t capacity_bytes = 0;
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::function<void()> release{};
  std::atomic<device::Uses*> uses{nullptr};  ///< Made when a stream first uses the bytes; owned.
  Impl* next_retired = nullptr;              ///< In the list of those whose bytes are still in use.

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// Who uses the bytes on streams. Allocates at the first call.
  [[nodiscard]] device::Uses& make_uses();
  /// Null while no stream has used the bytes.
  [[nodiscard]] device::Uses* known_uses() const noexcept { return uses.load(std::memory_order_acquire); }

  /// Whether the caller's handle is the only one; what other threads did with theirs is then visible.
  [[nodiscard]] bool unique() const noexcept { return references.load(std::memory_order_acquire) == 1; }
};

}  // namespace tandem
