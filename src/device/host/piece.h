#pragma once

#include "device/host/timeline.h"
#include "device/stream.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace tandem::device {

/// One entry of a host stream's queue: work, a copy, a fill, or a wait.
struct Piece {
  Stream::Work work = nullptr;  ///< Null: a copy, a fill, or nothing but the wait.
  void* data = nullptr;         ///< Of the work, or where the bytes go.
  std::uint32_t index = 0;
  const void* from = nullptr;  ///< Of a copy; null: a fill.
  std::size_t bytes = 0;
  std::byte value{};                  ///< Of a fill.
  std::shared_ptr<Timeline> after{};  ///< Waits for `point` of it, if set.
  std::uint64_t point = 0;

  [[nodiscard]] bool may_run() const noexcept { return after == nullptr || after->has_passed(point); }
  /// False if there is more of it.
  bool run() const noexcept {
    if (work != nullptr) {
      const WorkScope scope;
      return !work(data, index);
    }
    if (bytes == 0) return true;
    if (from != nullptr) {
      std::memmove(data, from, bytes);
    } else {
      std::memset(data, std::to_integer<int>(value), bytes);
    }
    return true;
  }
};

}  // namespace tandem::device
