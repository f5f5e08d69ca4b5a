#pragma once

#include "runtime/bind/instance.h"

#include <tandem/result.h>
#include <tandem/stream_ref.h>

namespace tandem::runtime {

/// Walks the steps of `instance` once. Its values are reset, its inputs and outputs have addresses.
///
/// Errors: any of an operator or delegate, with the step's site; NotSupported, more steps than the format allows in
///   one run (a loop that does not end).
[[nodiscard]] Status run_steps(Instance& instance, StreamRef stream);

}  // namespace tandem::runtime
