#pragma once

#include "device/host/timeline.h"
#include "device/stream.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace tandem::device {

/// One entry of a host stream's queue: work, a copy, bytes to set, or a wait.
struct Piece {
  Stream::Work work = nullptr;  ///< Null: a copy, bytes to set, or nothing but the wait.
  void* data = nullptr;         ///< Of the work, or where the copy goes.
  std::uint32_t index = 0;
  const void* from = nullptr;  ///< Null: sets the bytes to `value`.
  std::size_t bytes = 0;
  std::byte value{};
  std::shared_ptr<Timeline> after{};  ///< Waits for `point` of it, if set.
  std::uint64_t point = 0;

  [[nodiscard]] bool may_run() const noexcept { return after == nullptr || after->has_passed(point); }
  /// False if there is more of it.
  bool run() const noexcept {
    if (work != nullptr) {
      const WorkScope scope;
      return !work(data, index);
    }
    if (bytes != 0 && from != nullptr) std::memmove(data, from, bytes);
    if (bytes != 0 && from == nullptr) std::memset(data, std::to_integer<int>(value), bytes);
    return true;
  }
};

}  // namespace tandem::device
