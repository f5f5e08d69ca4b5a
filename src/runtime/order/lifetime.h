#pragma once

#include "runtime/schedule.h"

#include <tandem/result.h>

namespace tandem::runtime {

/// Shows that no step reads bytes that a later value has taken: wherever a step writes arena bytes, no other value
/// that some later step still reads, and that may have been written before, lies in them. All paths through jumps
/// count; views count as the bytes they may refer to.
///
/// Errors: OrderViolation, with both steps, both values and the bytes; NotSupported (as find_definitions()).
[[nodiscard]] Status check_lifetimes(const Schedule& schedule);

}  // namespace tandem::runtime
