#pragma once

#include "device/stream.h"

#include <tandem/result.h>

#include <chrono>
#include <optional>

namespace tandem::device {

/// How long the device takes from one point of a stream to another.
///
/// Lifetime: its device outlives it.
/// Thread-safety: none.
class Timer {
 public:
  virtual ~Timer() = default;
  /// Errors: as Stream::record().
  [[nodiscard]] virtual Status start(Stream& stream) = 0;
  [[nodiscard]] virtual Status stop(Stream& stream) = 0;
  /// Between the last start() and stop(); nothing before the stream has passed both. Errors: what the driver says.
  [[nodiscard]] virtual Result<std::optional<std::chrono::nanoseconds>> elapsed() = 0;
};

}  // namespace tandem::device
