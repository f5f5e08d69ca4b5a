#pragma once

#include <cstddef>

namespace tandem {
namespace device {
class Stream;
}

/// Borrows a stream. Never null: there is no conversion from nullptr or 0, because a null handle means the legacy
/// stream to the GPU APIs and "nothing" to people.
class StreamRef {
 public:
  explicit StreamRef(device::Stream& stream) noexcept : stream_{&stream} {}
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;
  [[nodiscard]] device::Stream& get() const noexcept { return *stream_; }

 private:
  device::Stream* stream_;
};

}  // namespace tandem
