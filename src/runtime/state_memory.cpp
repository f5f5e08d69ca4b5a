#include "runtime/state_memory.h"

#include "base/host_memory.h"

#include <algorithm>
#include <cstring>

namespace tandem::runtime {
namespace {

/// Size of the pieces that are brought to the host to be compared.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

bool is_zero(std::span<const std::byte> bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

/// Tells whether `bytes` are `initial` from byte `at` on, which zeros follow.
bool are_initial(std::span<const std::byte> bytes, std::span<const std::byte> initial, std::size_t at) noexcept {
  const std::span<const std::byte> stored = initial.subspan(std::min(at, initial.size()));
  const std::size_t count = std::min(bytes.size(), stored.size());
  return (count == 0 || std::memcmp(bytes.data(), stored.data(), count) == 0) && is_zero(bytes.subspan(count));
}

}  // namespace

void StateMemory::Free::operator()(std::byte* data) const noexcept { base::free_host(data); }

Result<std::shared_ptr<StateMemory>> StateMemory::create(device::Device& device, Home home, std::size_t bytes,
                                                         std::span<const std::byte> initial) {
  const std::shared_ptr<StateMemory> memory{
      new StateMemory{device, home, initial.first(std::min(bytes, initial.size()))}};
  if (home == Home::Host) {
    TANDEM_TRY(void* const data, base::allocate_host(bytes));
    memory->host_.reset(static_cast<std::byte*>(data));
    memory->bytes_ = {memory->host_.get(), bytes};
  } else {
    TANDEM_TRY(memory->buffer_, home == Home::Device ? device.allocate(bytes) : device.allocate_staging(bytes));
    memory->bytes_ = memory->buffer_.bytes().first(bytes);
  }
  memory->is_zero_ = is_zero(memory->initial_);
  TANDEM_CHECK_OK(memory->reset());
  return memory;
}

Status StateMemory::reset() {
  if (bytes_.empty()) return {};
  if (home_ != Home::Device) {
    std::memset(bytes_.data(), 0, bytes_.size());
    if (!is_zero_) std::memcpy(bytes_.data(), initial_.data(), initial_.size());
    return {};
  }
  device::Stream& stream = device_.thread_stream();
  TANDEM_CHECK_OK(stream.fill(bytes_.data(), std::byte{0}, bytes_.size()));
  if (!is_zero_) TANDEM_CHECK_OK(stream.upload(bytes_.data(), initial_.data(), initial_.size()));
  return stream.synchronize();
}

Result<bool> StateMemory::is_initial() const {
  if (home_ != Home::Device) return are_initial(bytes_, initial_, 0);
  if (bytes_.empty()) return true;
  TANDEM_TRY(const device::Buffer piece, device_.allocate_staging(std::min(kPieceBytes, bytes_.size())));
  device::Stream& stream = device_.thread_stream();
  for (std::size_t at = 0; at < bytes_.size(); at += kPieceBytes) {
    const std::size_t count = std::min(kPieceBytes, bytes_.size() - at);
    TANDEM_CHECK_OK(stream.copy(piece.data(), bytes_.data() + at, count));
    TANDEM_CHECK_OK(stream.synchronize());
    if (!are_initial(piece.bytes().first(count), initial_, at)) return false;
  }
  return true;
}

bool StateMemory::begins_as(std::span<const std::byte> initial) const noexcept {
  if (initial.data() == initial_.data() && initial.size() == initial_.size()) return true;
  const std::size_t common = std::min(initial.size(), initial_.size());
  return are_initial(initial.first(common), initial_, 0) && is_zero(initial.subspan(common)) &&
         is_zero(initial_.subspan(common));
}

}  // namespace tandem::runtime
