#include "facade/devices.h"

#include "device/host/host_device.h"

#ifdef TANDEM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#endif
#ifdef TANDEM_HAS_HIP
#include "device/hip/hip_device.h"
#endif

namespace tandem::facade {
namespace {

constexpr const char* kKinds =
    "host"
#ifdef TANDEM_HAS_CUDA
    ", cuda"
#endif
#ifdef TANDEM_HAS_HIP
    ", hip"
#endif
    ;

}  // namespace

Result<device::Device*> find_device(DeviceId id) {
  if (id == DeviceId{}) return &device::HostDevice::instance();
#ifdef TANDEM_HAS_CUDA
  if (id.type == DeviceType::Cuda) {
    TANDEM_TRY(device::Device* const found, device::cuda::find_device(id.index));
    return found;
  }
#endif
#ifdef TANDEM_HAS_HIP
  if (id.type == DeviceType::Hip) return device::hip::find_device(id.index);
#endif
  return Error{ErrorCode::NotSupported, "this build has no such device"}
      .with_expected(kKinds, to_string(id))
      .with_device(to_string(id));
}

}  // namespace tandem::facade
