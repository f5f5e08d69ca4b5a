#pragma once

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

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// Whether the caller's handle is the only one; what other threads did with theirs is then visible.
  [[nodiscard]] bool unique() const noexcept { return references.load(std::memory_order_acquire) == 1; }
};

}  // namespace tandem
