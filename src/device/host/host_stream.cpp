#include "device/host/host_stream.h"

#include "device/host/inline_stream.h"

#include <atomic>
#include <utility>

namespace tandem::device {
namespace {

std::uint64_t next_stream_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Status check_device(const Event& event) {
  if (event.device() == DeviceId{}) return {};
  return Error{ErrorCode::InvalidArgument, "the event belongs to another device"}
      .with_expected("host", to_string(event.device()))
      .with_device("host");
}

}  // namespace

HostStream::HostStream() noexcept : number_{next_stream_number()} {}

Stream& HostStream::within_work() noexcept {
  static InlineStream inside;
  return inside;
}

Status HostStream::synchronize() {
  TANDEM_CHECK_OK(drain());
  if (!has_failed_.load(std::memory_order_acquire)) return {};
  const std::scoped_lock lock{mutex_};
  has_failed_ = false;
  return std::exchange(failure_, {});
}

void HostStream::report(Status status) noexcept {
  if (status.ok()) return;
  const std::scoped_lock lock{mutex_};
  if (failure_.ok()) failure_ = std::move(status);
  has_failed_.store(true, std::memory_order_release);
}

Status HostStream::record(Event& event) {
  TANDEM_CHECK_OK(check_device(event));
  mark(static_cast<HostEvent&>(event));
  return {};
}

Status HostStream::wait(const Event& event) {
  TANDEM_CHECK_OK(check_device(event));
  const auto& on_host = static_cast<const HostEvent&>(event);
  return on_host.has_passed() ? Status{} : wait_for(on_host);
}

}  // namespace tandem::device
