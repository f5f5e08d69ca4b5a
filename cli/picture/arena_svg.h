#pragma once

#include "runtime/schedule.h"

#include <string>
#include <string_view>

namespace tandem::cli {

/// The arenas of a method over time, one below the other: steps from left to right in program order, bytes from the
/// bottom up, a box for each value with its bytes from the first step that touches it to the last; in front of them
/// the bytes in use at each step, and the most of them as a line. Draws the 4,000 largest values of an arena, and says
/// so if there are more. `title` is shown above.
[[nodiscard]] std::string arena_svg(const runtime::Schedule& schedule, std::string_view title);

}  // namespace tandem::cli
