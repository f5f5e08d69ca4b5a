#pragma once

#include "device/device.h"

#include <tandem/device.h>
#include <tandem/result.h>

namespace tandem::facade {

/// A device of this build and machine.
/// Errors: NotSupported, naming those that there are.
[[nodiscard]] Result<device::Device*> find_device(DeviceId id);

}  // namespace tandem::facade
