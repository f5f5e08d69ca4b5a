#pragma once

#include "device/device.h"

#include <tandem/result.h>

namespace tandem::device::hip {

/// 0 without a driver.
[[nodiscard]] int device_count() noexcept;
/// Lifetime: as long as the process.
/// Errors: NotSupported, no driver or no device; NotFound, naming those that there are; InvalidState, a forked child.
[[nodiscard]] Result<Device*> find_device(int index);

}  // namespace tandem::device::hip
