#include "allocation_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

// The linker sends this program's calls of these functions here (--wrap).
extern "C" {
void* __real_malloc(std::size_t bytes);                                // NOLINT(bugprone-reserved-identifier)
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)
void* __wrap_malloc(std::size_t bytes) {                               // NOLINT(bugprone-reserved-identifier)
  count.fetch_add(1, std::memory_order_relaxed);
  return __real_malloc(bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {  // NOLINT(bugprone-reserved-identifier)
  count.fetch_add(1, std::memory_order_relaxed);
  return __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  if (void* data = std::malloc(bytes == 0 ? 1 : bytes); data != nullptr) return data;
  throw std::bad_alloc{};
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* data = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit); data != nullptr) return data;
  throw std::bad_alloc{};
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace tandem::aoti {

std::uint64_t allocation_count() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace tandem::aoti
