#include <tandem/tensor.h>

#include "base/strided_copy.h"
#include "device/tensor_impl.h"
#include "facade/devices.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tandem {
namespace {

/// The axes from outermost to innermost in memory.
std::vector<std::uint8_t> order_of(const Tensor& tensor) {
  std::vector<std::uint8_t> order(tensor.rank());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::ranges::stable_sort(
      order, [&tensor](std::uint8_t a, std::uint8_t b) { return tensor.strides()[a] > tensor.strides()[b]; });
  return order;
}

/// A tensor of `like`'s elements in memory of `device`.
Result<Tensor> empty_on(device::Device& device, const Tensor& like, std::span<const std::int64_t> strides) {
  auto memory = std::make_shared<device::Buffer>();
  TANDEM_TRY(*memory, device.allocate(like.nbytes()));
  return Tensor::from_blob(
      memory->data(), like.dtype(), like.sizes(), strides, [memory] {}, device.id());
}

}  // namespace

Result<Tensor> Tensor::to(DeviceId target) const {
  if (target == device()) return *this;
  const bool up = device() == DeviceId{};
  if (!up && target != DeviceId{}) {
    return Error{ErrorCode::NotSupported, "a tensor goes from one device to another by way of the host"}.with_expected(
        "host", to_string(target));
  }
  TANDEM_TRY(device::Device* const gpu, facade::find_device(up ? target : device()));
  const std::vector<std::uint8_t> order = order_of(*this);
  std::array<std::int64_t, kMaxRank> dense{};
  const std::span<std::int64_t> strides{dense.data(), rank()};
  strides_from_dim_order(sizes(), order, strides);
  if (!up && !base::same_layout(sizes(), this->strides(), strides)) {
    return Error{ErrorCode::NotSupported, "the tensor on the device is not dense"};
  }
  if (const device::Uses* uses = impl_->known_uses()) TANDEM_CHECK_OK(uses->synchronize());
  device::Stream& stream = gpu->thread_stream();
  if (!up) {
    TANDEM_TRY(Tensor host, Tensor::empty(dtype(), sizes(), order));
    TANDEM_CHECK_OK(stream.download(host.data(), data(), nbytes()));
    TANDEM_CHECK_OK(stream.synchronize());
    return host;
  }
  Tensor source = *this;
  if (!base::same_layout(sizes(), this->strides(), strides)) {
    TANDEM_TRY(source, Tensor::empty(dtype(), sizes(), order));
    base::copy_strided(source.data(), source.strides(), data(), this->strides(), sizes(), item_bytes(dtype()));
  }
  TANDEM_TRY(Tensor copy, empty_on(*gpu, source, strides));
  TANDEM_CHECK_OK(stream.upload(copy.data(), source.data(), source.nbytes()));
  TANDEM_CHECK_OK(stream.synchronize());
  return copy;
}

}  // namespace tandem
