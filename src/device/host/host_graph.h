#pragma once

#include "device/graph.h"

#include <memory>

namespace tandem::device {

/// Starts a graph of the host: pieces in a row, which one piece of work runs. It has no kernels; work that is captured
/// needs its data as long as the graph lives.
[[nodiscard]] std::unique_ptr<GraphBuilder> make_host_graph();

}  // namespace tandem::device
