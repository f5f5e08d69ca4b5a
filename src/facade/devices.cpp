#include "facade/devices.h"

#include "device/host/host_device.h"

namespace tandem::facade {

Result<device::Device*> find_device(DeviceId id) {
  if (id == DeviceId{}) return &device::HostDevice::instance();
  return Error{ErrorCode::NotSupported, "this build has no such device"}
      .with_expected("host", to_string(id))
      .with_device(to_string(id));
}

}  // namespace tandem::facade
