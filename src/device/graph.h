#pragma once

#include "device/stream.h"

#include <tandem/recorder.h>
#include <tandem/result.h>

#include <cstddef>
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
  /// Makes it ready to run, and brings it to the device in the order of `stream`. The builder is used up.
  /// Errors: OutOfMemory; what the driver says.
  [[nodiscard]] virtual Result<std::unique_ptr<Graph>> finish(Stream& stream) = 0;
};

}  // namespace tandem::device
