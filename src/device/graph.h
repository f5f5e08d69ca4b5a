#pragma once

#include "device/stream.h"

#include <tandem/recorder.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

/// How the parts of a graph follow each other.
struct GraphEdges {
  /// From one part's last piece of work to another's first.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{};
  std::vector<bool> is_chain{};  ///< By part: each of its pieces comes after the one before.
  std::vector<bool> is_empty{};  ///< By part.
};

/// A graph in the making. Nothing of it runs. Within a part, each piece of work comes after the one before; without
/// parts, everything does.
class GraphBuilder : public Recorder {
 public:
  /// What follows is the next part, and comes after the parts `after` alone, which are numbered from 0 in the order of
  /// these calls. A part may be empty.
  /// Preconditions: at the start, before any work; parts of `after` have begun.
  virtual void begin_part(std::span<const std::uint32_t> after) = 0;
  /// What orders the parts, as the driver has it, to be held against what was asked for. Errors: what the driver says.
  [[nodiscard]] virtual Result<GraphEdges> edges() = 0;
  /// Calls `enqueue` once, with a stream that captures: what it enqueues there becomes the next piece, and does not
  /// run. Meanwhile nobody may wait for the stream or the whole device; another thread that does breaks the capture,
  /// and gets an error itself. Errors: what `enqueue` returns; InvalidState, something broke the capture. The graph is
  /// as before then.
  [[nodiscard]] virtual Status capture(const std::function<Status(Stream&)>& enqueue) = 0;
  /// Adds all of it to the graph that `stream` is capturing, after what it has so far, instead of making a graph of its
  /// own. `owner`, and what the builder keeps, are kept as long as that graph, and what is made of it, can run; they go
  /// with a later sweep_kept(). The builder is used up.
  /// Errors: InvalidArgument, a stream of another device; InvalidState, it does not capture; NotSupported, the device
  ///   cannot; what the driver says.
  [[nodiscard]] virtual Status add_to_capture(Stream& stream, std::shared_ptr<void> owner);
  /// Makes it ready to run, and brings it to the device in the order of `stream`. The builder is used up.
  /// Errors: OutOfMemory; what the driver says.
  [[nodiscard]] virtual Result<std::unique_ptr<Graph>> finish(Stream& stream) = 0;
};

inline Status GraphBuilder::add_to_capture(Stream& /*stream*/, std::shared_ptr<void> /*owner*/) {
  return Error{ErrorCode::NotSupported, "the device adds nothing to a capture of the caller's"};
}

}  // namespace tandem::device
