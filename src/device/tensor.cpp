#include <tandem/tensor.h>

#include "base/checked.h"
#include "base/host_memory.h"
#include "base/log.h"
#include "device/tensor_impl.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tandem {
namespace {

void retain(Tensor::Impl* impl) noexcept {
  if (impl != nullptr) impl->references.fetch_add(1, std::memory_order_relaxed);
}

/// Tensors whose last handle is gone while streams still use their bytes. Looked at again whenever a tensor goes.
class Retired {
 public:
  static Retired& instance() {
    static auto* retired = new Retired;  // never destroyed: tensors may outlive static objects
    return *retired;
  }

  void add(Tensor::Impl* impl) noexcept {
    const std::scoped_lock lock{mutex_};
    impl->next_retired = waiting_;
    waiting_ = impl;
    any_.store(true, std::memory_order_relaxed);
  }

  void sweep() noexcept {
    if (!any_.load(std::memory_order_relaxed)) return;
    Tensor::Impl* over = nullptr;  // their release functions run outside the lock
    {
      const std::scoped_lock lock{mutex_};
      for (Tensor::Impl** at = &waiting_; *at != nullptr;) {
        Tensor::Impl* const one = *at;
        if (!one->known_uses()->are_over()) {
          at = &one->next_retired;
          continue;
        }
        *at = one->next_retired;
        one->next_retired = over;
        over = one;
      }
      any_.store(waiting_ != nullptr, std::memory_order_relaxed);
    }
    while (over != nullptr) delete std::exchange(over, over->next_retired);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_{false};
  Tensor::Impl* waiting_ = nullptr;
};

void drop(Tensor::Impl* impl) noexcept {
  if (impl == nullptr || impl->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (const device::Uses* uses = impl->known_uses(); uses != nullptr && !uses->are_over()) {
    Retired::instance().add(impl);
  } else {
    delete impl;
  }
  Retired::instance().sweep();
}

Result<std::unique_ptr<Tensor::Impl>> describe(ScalarType dtype, std::span<const std::int64_t> sizes) {
  if (!is_scalar_type(static_cast<int>(dtype))) {
    return Error{ErrorCode::InvalidArgument, "unknown element type"}.with_expected(
        "a ScalarType", std::to_string(static_cast<int>(dtype)));
  }
  if (sizes.size() > kMaxRank) {
    return Error{ErrorCode::InvalidArgument, "rank is too large"}.with_expected("at most " + std::to_string(kMaxRank),
                                                                                std::to_string(sizes.size()));
  }
  const auto bytes = base::checked_bytes(sizes, item_bytes(dtype));
  if (!bytes) return Error{ErrorCode::InvalidArgument, "a size is negative, or the bytes overflow"};
  auto impl = std::make_unique<Tensor::Impl>();
  impl->dtype = dtype;
  impl->rank = static_cast<std::uint8_t>(sizes.size());
  impl->capacity_bytes = *bytes;
  std::copy(sizes.begin(), sizes.end(), impl->sizes.begin());
  return impl;
}

/// Row-major strides of axes 0..n-1.
void contiguous_strides(Tensor::Impl& impl) noexcept {
  std::array<std::uint8_t, kMaxRank> order{};
  for (std::size_t i = 0; i < impl.rank; ++i) order[i] = static_cast<std::uint8_t>(i);
  strides_from_dim_order({impl.sizes.data(), impl.rank}, {order.data(), impl.rank}, {impl.strides.data(), impl.rank});
}

bool is_permutation(std::span<const std::uint8_t> order) noexcept {
  std::uint32_t seen = 0;
  for (const std::uint8_t axis : order) {
    if (axis >= order.size()) return false;
    seen |= 1U << axis;
  }
  return seen == (1U << order.size()) - 1U;
}

}  // namespace

Tensor::Impl::~Impl() {
  if (owns_data) base::free_host(data);
  if (release) {
    try {
      release();
    } catch (...) {
      base::log(LogLevel::Error, "the release function of a tensor threw; it must not");
    }
  }
  delete uses.load(std::memory_order_relaxed);
}

device::Uses& Tensor::Impl::make_uses() {
  device::Uses* found = known_uses();
  if (found != nullptr) return *found;
  auto fresh = std::make_unique<device::Uses>();
  if (uses.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *found;
}

Status Tensor::record_use(StreamRef stream) const {
  device::Stream& used = stream.get();
  if (used.is_inline()) return {};
  TANDEM_TRY(const Event event, stream.record());
  impl_->make_uses().note_read(used.id(), event);
  return {};
}

void Tensor::release_after(const Event& event) const { impl_->make_uses().note_read({}, event); }

Tensor::Tensor(const Tensor& other) noexcept : impl_{other.impl_} { retain(impl_); }
Tensor::Tensor(Tensor&& other) noexcept : impl_{std::exchange(other.impl_, nullptr)} {}
Tensor& Tensor::operator=(const Tensor& other) noexcept {
  retain(other.impl_);
  drop(std::exchange(impl_, other.impl_));
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) drop(std::exchange(impl_, std::exchange(other.impl_, nullptr)));
  return *this;
}
Tensor::~Tensor() { drop(impl_); }

Result<Tensor> Tensor::empty(ScalarType dtype, std::span<const std::int64_t> sizes,
                             std::span<const std::uint8_t> dim_order) {
  TANDEM_TRY(auto impl, describe(dtype, sizes));
  if (dim_order.empty()) {
    contiguous_strides(*impl);
  } else {
    if (dim_order.size() != sizes.size() || !is_permutation(dim_order)) {
      return Error{ErrorCode::InvalidArgument, "dim_order is no permutation of the axes"};
    }
    strides_from_dim_order(sizes, dim_order, {impl->strides.data(), impl->rank});
  }
  TANDEM_TRY(impl->data, base::allocate_host(impl->capacity_bytes));
  impl->owns_data = true;
  return Tensor{impl.release()};
}

Result<Tensor> Tensor::from_blob(void* data, ScalarType dtype, std::span<const std::int64_t> sizes,
                                 std::span<const std::int64_t> strides, std::function<void()> release,
                                 DeviceId device) {
  TANDEM_TRY(auto impl, describe(dtype, sizes));
  if (data == nullptr && impl->capacity_bytes != 0) {
    return Error{ErrorCode::InvalidArgument, "null data for a tensor with bytes"};
  }
  if (strides.empty()) {
    contiguous_strides(*impl);
  } else {
    if (strides.size() != sizes.size()) {
      return Error{ErrorCode::InvalidArgument, "one stride per axis"}.with_expected(std::to_string(sizes.size()),
                                                                                    std::to_string(strides.size()));
    }
    if (std::any_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride < 0; })) {
      return Error{ErrorCode::InvalidArgument, "a stride is negative"};
    }
    std::copy(strides.begin(), strides.end(), impl->strides.begin());
    const auto bytes = base::extent_bytes(sizes, strides, item_bytes(dtype));
    if (!bytes) return Error{ErrorCode::InvalidArgument, "the strides overflow"};
    impl->capacity_bytes = *bytes;
  }
  std::uintptr_t end = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(data), impl->capacity_bytes, &end)) {
    return Error{ErrorCode::InvalidArgument, "the tensor reaches past the end of memory"}.with_expected(
        std::to_string(UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(data)) + " bytes at most",
        std::to_string(impl->capacity_bytes) + " bytes");
  }
  impl->data = data;
  impl->device = device;
  impl->release = std::move(release);
  return Tensor{impl.release()};
}

ScalarType Tensor::dtype() const noexcept { return impl_->dtype; }
std::span<const std::int64_t> Tensor::sizes() const noexcept { return {impl_->sizes.data(), impl_->rank}; }
std::span<const std::int64_t> Tensor::strides() const noexcept { return {impl_->strides.data(), impl_->rank}; }
DeviceId Tensor::device() const noexcept { return impl_->device; }
void* Tensor::data() const noexcept { return impl_->data; }

std::int64_t Tensor::numel() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes()) count *= size;
  return count;
}

std::size_t Tensor::nbytes() const noexcept { return static_cast<std::size_t>(numel()) * item_bytes(dtype()); }

bool Tensor::is_contiguous() const noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = impl_->rank; i-- > 0;) {
    if (impl_->sizes[i] == 0) return true;
    if (impl_->sizes[i] != 1 && impl_->strides[i] != expected) return false;
    expected *= impl_->sizes[i];
  }
  return true;
}

void strides_from_dim_order(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> dim_order,
                            std::span<std::int64_t> strides) noexcept {
  std::int64_t step = 1;
  for (std::size_t i = dim_order.size(); i-- > 0;) {
    const std::uint8_t axis = dim_order[i];
    strides[axis] = step;
    step *= std::max<std::int64_t>(sizes[axis], 1);
  }
}

}  // namespace tandem
