#include "backends/aoti/tensor_handle.h"

#include <algorithm>
#include <array>
#include <new>

namespace tandem::aoti {

Storage* make_storage(MemorySource& source, std::size_t bytes) noexcept {
  auto* storage = new (std::nothrow) Storage;
  if (storage == nullptr) return nullptr;
  storage->data = source.allocate(bytes);
  if (storage->data == nullptr) {
    delete storage;
    return nullptr;
  }
  storage->bytes = bytes;
  storage->references.store(1, std::memory_order_relaxed);
  storage->owner = &source;
  storage->release = [](Storage& last, void* owner) noexcept {
    static_cast<MemorySource*>(owner)->release(last.data);
    delete &last;
  };
  return storage;
}

bool AtenTensor::is_contiguous() const noexcept {
  if (numel() == 0) return true;
  std::int64_t step = 1;
  for (std::size_t d = rank; d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

bool AtenTensor::is_dense() const noexcept {
  if (numel() == 0) return true;
  std::array<std::uint8_t, kMaxRank> order{};
  std::size_t count = 0;
  for (std::uint8_t d = 0; d < rank; ++d) {
    if (sizes[d] != 1) order[count++] = d;
  }
  const std::span<std::uint8_t> by_stride{order.data(), count};
  std::ranges::sort(by_stride, {}, [this](std::uint8_t d) { return strides[d]; });
  std::int64_t step = 1;
  for (const std::uint8_t d : by_stride) {
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

void delete_handle(AtenTensor& handle) noexcept {
  Storage* storage = handle.storage;
  handle.home->give_back(handle);
  if (storage != nullptr) storage->drop_reference();
}

HandlePool::~HandlePool() {
  for (const auto& block : blocks_) {
    for (AtenTensor& handle : std::span{block.get(), kBlock}) {
      if (handle.tag == AtenTensor::kLive && handle.storage != nullptr) handle.storage->drop_reference();
    }
  }
}

HandlePool& HandlePool::shared() {
  static HandlePool* instance = [] {
    auto* pool = new HandlePool;  // never destroyed: libraries may drop handles while the process ends
    pool->mutex_ = new std::mutex;
    return pool;
  }();
  return *instance;
}

void HandlePool::grow() {
  blocks_.reserve(blocks_.size() + 1);
  blocks_.push_back(std::make_unique<AtenTensor[]>(kBlock));
  for (AtenTensor& handle : std::span{blocks_.back().get(), kBlock}) {
    handle.home = this;
    handle.next_free = free_;
    free_ = &handle;
  }
}

AtenTensor& HandlePool::take() {
  const auto lock = mutex_ != nullptr ? std::unique_lock{*mutex_} : std::unique_lock<std::mutex>{};
  if (free_ == nullptr) grow();
  AtenTensor& handle = *free_;
  free_ = handle.next_free;
  ++live_;
  handle.tag = AtenTensor::kLive;
  handle.device_type = kAtenCpu;
  handle.device_index = -1;
  handle.dtype = ScalarType::Float;
  handle.rank = 0;
  handle.defined = false;
  handle.base = nullptr;
  handle.storage_bytes = 0;
  handle.offset = 0;
  handle.storage = nullptr;
  return handle;
}

void HandlePool::give_back(AtenTensor& handle) noexcept {
  const auto lock = mutex_ != nullptr ? std::unique_lock{*mutex_} : std::unique_lock<std::mutex>{};
  handle.tag = 0;
  handle.next_free = free_;
  free_ = &handle;
  --live_;
}

}  // namespace tandem::aoti
