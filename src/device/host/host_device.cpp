#include "device/host/host_device.h"

#include "base/host_memory.h"
#include "device/host/inline_stream.h"
#include "device/host/queued_stream.h"

namespace tandem::device {

HostDevice& HostDevice::instance() noexcept {
  static HostDevice device;
  return device;
}

Result<Buffer> HostDevice::allocate(std::size_t bytes) {
  TANDEM_TRY(void* data, base::allocate_host(bytes));
  return Buffer{*this, {static_cast<std::byte*>(data), bytes}};
}

Stream& HostDevice::thread_stream() noexcept {
  thread_local InlineStream stream;
  return stream;
}

Result<std::unique_ptr<Stream>> HostDevice::make_stream() { return QueuedStream::create(); }

void HostDevice::free(std::byte* data) noexcept { base::free_host(data); }

}  // namespace tandem::device
