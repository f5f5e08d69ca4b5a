#pragma once

#include "cli/picture/method_graph.h"

#include <tandem/result.h>

#include <string>
#include <string_view>

namespace tandem::cli {

/// One method as a picture: boxes for steps, inputs, outputs and stored values, lines for what they hand on, one colour
/// per backend. `title` is shown above it.
/// Errors: NotSupported, too large (lay_out()).
[[nodiscard]] Result<std::string> graph_svg(const MethodGraph& graph, std::string_view title);

}  // namespace tandem::cli
