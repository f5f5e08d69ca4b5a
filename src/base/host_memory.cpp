#include "base/host_memory.h"

#include "base/checked.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace tandem::base {
namespace {

Error out_of_memory(std::size_t bytes) {
  return Error{ErrorCode::OutOfMemory, "host memory"}
      .with_expected(std::to_string(bytes) + " bytes", "none left")
      .with_device("host");
}

/// 0 where rounding up overflows.
std::size_t rounded(std::size_t bytes) noexcept {
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - kHostAlignment) return 0;
  return bytes == 0 ? kHostAlignment : align_up(bytes, kHostAlignment);
}

}  // namespace

Result<void*> allocate_host(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  void* data = size == 0 ? nullptr : std::aligned_alloc(kHostAlignment, size);
  if (data == nullptr) return out_of_memory(bytes);
  return data;
}

Result<void*> allocate_host_zeroed(std::size_t bytes) {
  TANDEM_TRY(void* data, allocate_host(bytes));
  std::memset(data, 0, bytes);
  return data;
}

void free_host(void* data) noexcept { std::free(data); }

}  // namespace tandem::base
