#include "device/host/inline_stream.h"

#include <cstring>

namespace tandem::device {

Status InlineStream::submit(Work work, void* data, std::uint32_t index) {
  while (work(data, index)) {
  }
  return {};
}

Status InlineStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return {};
}

Status InlineStream::fill(void* to, std::byte value, std::size_t bytes) {
  if (bytes != 0) std::memset(to, std::to_integer<int>(value), bytes);
  return {};
}

}  // namespace tandem::device
