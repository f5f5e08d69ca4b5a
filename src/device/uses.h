#pragma once

#include "device/stream.h"

#include <tandem/event.h>
#include <tandem/result.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace tandem::device {

/// Who used some memory: its last write and all reads since, at most one per stream. What lets work on any stream use
/// the memory next without a wait of the host.
///
/// Work on inline streams is over when it is noted, so it needs no entry.
/// Thread-safety: any thread. Who asks and then notes is one caller at a time, or two users may both go next.
class Uses {
 public:
  /// Makes `stream` wait for the last write on another stream. Errors: as Stream::wait().
  [[nodiscard]] Status before_read(Stream& stream) const;
  /// Makes `stream` wait for the last write and all reads since on other streams. Errors: as Stream::wait().
  [[nodiscard]] Status before_write(Stream& stream) const;
  /// `stream` reads the memory until `done`.
  void note_read(StreamId stream, const tandem::Event& done);
  /// `stream` writes the memory until `done`, after everything noted before. Undefined: it has written it.
  void note_write(StreamId stream, const tandem::Event& done);
  /// Whether every use is over. Asks the driver.
  [[nodiscard]] bool are_over() const;
  /// Blocks until every use is over.
  [[nodiscard]] Status synchronize() const;

 private:
  struct Use {
    StreamId stream{};
    tandem::Event done{};
  };
  [[nodiscard]] bool is_empty() const noexcept { return !any_.load(std::memory_order_acquire); }

  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  Use write_{};
  std::vector<Use> reads_{};
};

}  // namespace tandem::device
