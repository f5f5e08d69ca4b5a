#pragma once

#include <cstddef>

namespace tandem::aoti {

/// Where a device's tensors get memory that no plan provides.
/// Thread-safety: any thread.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// At least 64-byte aligned; null if there is none left.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) noexcept = 0;
  virtual void release(std::byte* data) noexcept = 0;
  /// False if the copy failed.
  [[nodiscard]] virtual bool copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept = 0;
};

/// The host's heap.
[[nodiscard]] MemorySource& host_memory() noexcept;

}  // namespace tandem::aoti
