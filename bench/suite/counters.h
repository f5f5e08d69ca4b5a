#pragma once

#include "bench/suite/scenario.h"

namespace tandem::suite {

/// Allocations from the heap that the calling thread makes in `work`. For programs that link allocations.cpp, which
/// takes malloc over.
[[nodiscard]] Result<std::optional<std::size_t>> count_allocations(const std::function<Status()>& work);

/// 1 if the calling thread makes a system call in `work`, else 0; nothing where the kernel (before Linux 5.11) cannot
/// tell.
[[nodiscard]] Result<std::optional<std::size_t>> count_system_calls(const std::function<Status()>& work);

}  // namespace tandem::suite
