#pragma once

#include "runtime/order/order_check.h"
#include "runtime/schedule.h"

#include <tandem/result.h>

#include <span>
#include <string>
#include <string_view>

namespace tandem::cli {

/// A stream plan as a score: a lane per stream and one for what runs on the host, steps from left to right in program
/// order, host waits as bars, events and handed-on values between lanes as lines, and every pair of steps that nothing
/// orders joined by a red dashed line, the missing edge. Long plans continue in further systems, like music.
///
/// `title` is shown above it. Errors: NotSupported, more than 2,000 steps.
[[nodiscard]] Result<std::string> order_svg(const runtime::Schedule& schedule, const runtime::StreamPlan& plan,
                                            std::span<const runtime::Conflict> conflicts, std::string_view title);

}  // namespace tandem::cli
