#pragma once

#include "bench/suite/machine.h"

#include <memory>

namespace tandem::suite {

/// Errors: as device::cuda::find_device().
[[nodiscard]] Result<std::unique_ptr<Machine>> make_cuda_machine(int device);

}  // namespace tandem::suite
