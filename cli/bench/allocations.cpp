#include "cli/bench/allocations.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tandem::cli::bench {
namespace {

thread_local std::uint64_t allocations = 0;

/// As the standard wants it of `new`.
template <class Allocate>
void* allocate_or_throw(Allocate&& allocate) {
  ++allocations;
  for (;;) {
    if (void* const memory = allocate(); memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc{};
    handler();
  }
}

}  // namespace

AllocationCounter allocation_counter() noexcept {
  return []() noexcept { return allocations; };
}

}  // namespace tandem::cli::bench

// The other forms call these.
void* operator new(std::size_t bytes) {
  return tandem::cli::bench::allocate_or_throw([bytes] { return std::malloc(bytes == 0 ? 1 : bytes); });
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return tandem::cli::bench::allocate_or_throw(
      [=] { return std::aligned_alloc(step, bytes == 0 ? step : (bytes + step - 1) / step * step); });
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
