#include "bench/suite/counters.h"

#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;

void count() noexcept {
  if (counting) ++allocations;
}

}  // namespace

// Every allocation of the process comes by here: operator new's too.
#pragma GCC visibility push(default)
extern "C" {
void* malloc(std::size_t bytes) noexcept {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  count();
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  count();
  constexpr int kNoMemory = 12;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? kNoMemory : 0;
}
}
#pragma GCC visibility pop

namespace tandem::suite {

Result<std::optional<std::size_t>> count_allocations(const std::function<Status()>& work) {
  allocations = 0;
  counting = true;
  Status done = work();
  counting = false;
  TANDEM_CHECK_OK(std::move(done));
  return std::optional{allocations};
}

}  // namespace tandem::suite
