#pragma once

#include "cli/pack/manifest_node.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tandem::cli {

/// Positions by name, of what a manifest names.
using Names = std::map<std::string, std::size_t, std::less<>>;

/// The position of what `node`, a text, names. `what` it is, for errors: "value".
/// Errors: InvalidArgument, no text; nothing has this name, with the nearest that something has.
[[nodiscard]] Result<std::size_t> look_up(const ManifestNode& node, std::string_view what, const Names& names);

}  // namespace tandem::cli
