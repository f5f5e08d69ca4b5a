#pragma once

#include "device/stream.h"

#include <tandem/recorder.h>
#include <tandem/result.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace tandem::device {

/// Work of one device in a fixed shape, run as a whole, any number of times.
///
/// Lifetime: its device outlives it. It may go while it runs.
/// Thread-safety: none.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Enqueues all of it, in one call of the driver. Runs of one graph follow each other, on whatever streams.
  /// Errors: InvalidArgument, a stream of another device; as Stream::may_enqueue().
  [[nodiscard]] virtual Status launch(Stream& stream) = 0;
  /// Kernels and copies in it.
  [[nodiscard]] virtual std::size_t node_count() const noexcept = 0;
};

/// A graph in the making: each piece of work after the one before. Nothing of it runs.
class GraphBuilder : public Recorder {
 public:
  /// Calls `enqueue` once, with a stream that captures: what it enqueues there becomes the next piece, and does not
  /// run. Meanwhile nobody may wait for the stream or the whole device; another thread that does breaks the capture,
  /// and gets an error itself. Errors: what `enqueue` returns; InvalidState, something broke the capture. The graph is
  /// as before then.
  [[nodiscard]] virtual Status capture(const std::function<Status(Stream&)>& enqueue) = 0;
  /// Makes it ready to run, and brings it to the device in the order of `stream`. The builder is used up.
  /// Errors: OutOfMemory; what the driver says.
  [[nodiscard]] virtual Result<std::unique_ptr<Graph>> finish(Stream& stream) = 0;
};

}  // namespace tandem::device
