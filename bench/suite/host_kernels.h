#pragma once

#include "bench/suite/kernel_call.h"

namespace tandem::suite {

/// What the kernel computes, as plain host code.
void run_on_host(const KernelCall& call) noexcept;

}  // namespace tandem::suite
