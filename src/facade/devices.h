#pragma once

#include "device/device.h"

#include <tandem/device.h>
#include <tandem/result.h>

namespace tandem::facade {

/// A device of this build and machine.
/// Errors: NotSupported, naming the kinds of this build, or the machine has none of the kind; NotFound, naming those
/// that
///   there are.
[[nodiscard]] Result<device::Device*> find_device(DeviceId id);

}  // namespace tandem::facade
