#include "backends/aoti/memory_source.h"

#include "base/host_memory.h"

#include <cstring>

namespace tandem::aoti {
namespace {

class HostMemory final : public MemorySource {
 public:
  std::byte* allocate(std::size_t bytes) noexcept override {
    const Result<void*> data = base::allocate_host(bytes);
    return data.ok() ? static_cast<std::byte*>(*data) : nullptr;
  }
  void release(std::byte* data) noexcept override { base::free_host(data); }
  bool copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return true;
  }
};

}  // namespace

MemorySource& host_memory() noexcept {
  static HostMemory* instance = new HostMemory;  // never destroyed: handles may be dropped while the process ends
  return *instance;
}

}  // namespace tandem::aoti
