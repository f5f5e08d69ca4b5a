#include "device/hip/hip_device.h"

#include "device/gpu/capture.h"
#include "device/gpu/devices.h"
#include "device/hip/hip_api.h"

namespace tandem::device::gpu {

// All of it is compiled, whatever is used.
template class Devices<hip::HipApi>;
template class GpuDevice<hip::HipApi>;
template class GpuStream<hip::HipApi>;
template class GpuEvent<hip::HipApi>;
template class Graph<hip::HipApi>;
template class CaptureScope<hip::HipApi>;

}  // namespace tandem::device::gpu

namespace tandem::device::hip {
namespace {

gpu::Devices<HipApi>& devices() { return gpu::Devices<HipApi>::instance(); }

}  // namespace

int device_count() noexcept { return devices().count(); }

Result<Device*> find_device(int index) {
  TANDEM_TRY(Device* const device, devices().find(index));
  return device;
}

}  // namespace tandem::device::hip
