#pragma once

#include "cli/bench/runner.h"

namespace tandem::cli::bench {

/// Counts how often the calling thread has asked for memory with `new`, in whatever code of the process. Null in a
/// build with sanitizers, which bring operators of their own.
///
/// allocations.cpp replaces the operators, so it is linked into the command alone.
[[nodiscard]] AllocationCounter allocation_counter() noexcept;

}  // namespace tandem::cli::bench
