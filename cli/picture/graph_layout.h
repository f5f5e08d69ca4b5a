#pragma once

#include "cli/picture/geometry.h"
#include "cli/picture/method_graph.h"

#include <tandem/result.h>

#include <cstdint>
#include <vector>

namespace tandem::cli {

/// A piece of a net's way.
struct Route {
  std::uint32_t net = 0;
  std::vector<Point> points{};
  bool orthogonal = false;  ///< Lines with rounded corners; else one curve that leaves and arrives horizontally.
  bool arrives = false;     ///< Ends at a box: has the arrow head.
};

/// Where everything is. Units: pixels.
struct GraphLayout {
  double width = 0;
  double height = 0;
  std::vector<Box> boxes{};     ///< By node.
  std::vector<Point> labels{};  ///< By net: where its label starts.
  std::vector<Route> routes{};
};

struct LayoutOptions {
  std::vector<Point> sizes{};          ///< By node: width and height of its box.
  std::vector<double> label_widths{};  ///< By net.
  double max_width = 1320;             ///< Longer graphs continue in further rows, like text.
};

/// Places a graph in layers from left to right, and the layers in rows.
///
/// A box lies right of (or rows below) all that it needs; values that pass over layers have a free way between the
/// boxes; jumps, and values that go back in a loop, run in the gutter below a row. Order within a layer is by
/// barycentres, heights are the least squares that keep the order.
/// Errors: NotSupported, more than 50,000 boxes and crossings of layers.
[[nodiscard]] Result<GraphLayout> lay_out(const MethodGraph& graph, const LayoutOptions& options);

}  // namespace tandem::cli
