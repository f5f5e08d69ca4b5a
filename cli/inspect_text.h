#pragma once

#include "cli/json.h"

#include <cstddef>
#include <string>

namespace tandem::cli {

/// The object that program_json() or data_json() made, as aligned tables.
/// Units: at most `max_instructions` of each chain are listed.
[[nodiscard]] std::string inspect_text(const Json& report, std::size_t max_instructions);

}  // namespace tandem::cli
