#include "device/cuda/cuda_device.h"

#include "device/gpu/devices.h"

#include <string>

namespace tandem::device::cuda {
namespace {

gpu::Devices<CudaApi>& devices() { return gpu::Devices<CudaApi>::instance(); }

}  // namespace

int device_count() noexcept { return devices().count(); }

Result<CudaDevice*> find_device(int index) { return devices().find(index); }

Result<std::unique_ptr<Stream>> borrow(cudaStream_t stream) {
  // Handles without a device of their own mean the current one.
  if (CudaApi::is_legacy(stream) || stream == CudaApi::per_thread_stream()) {
    TANDEM_TRY(CudaDevice* const current, devices().current());
    TANDEM_TRY(auto borrowed, current->borrow(stream));
    TANDEM_CHECK_OK(borrowed->may_enqueue());
    return borrowed;
  }
  TANDEM_TRY(CudaDevice* const any, find_device(0));
  int owner = 0;
  bool is_foreign = false;
  const cudaError_t code = CudaApi::stream_owner(stream, &owner, &is_foreign);
  if (code != cudaSuccess) return any->context().failed(code, "the driver does not know the stream");
  TANDEM_TRY(CudaDevice* const device, find_device(owner));
  return device->borrow(stream);
}

Result<DeviceId> owner_of(const void* data) {
  TANDEM_TRY(CudaDevice* const any, devices().current());
  gpu::PointerInfo info;
  TANDEM_CHECK_OK(any->context().run("the driver does not know the memory",
                                     [data, &info] { return CudaApi::pointer_info(data, &info); }));
  if (info.place == gpu::PointerPlace::Device || info.place == gpu::PointerPlace::Managed) {
    TANDEM_TRY(CudaDevice* const owner, find_device(info.device));
    return owner->id();
  }
  return Error{ErrorCode::InvalidArgument, "memory of the host where a device's is wanted"}.with_expected(
      "device or managed memory",
      info.place == gpu::PointerPlace::PinnedHost ? "page-locked host memory" : "pageable host memory");
}

Status upload(int device, void* to, std::span<const std::byte> from) {
  TANDEM_TRY(CudaDevice* const found, find_device(device));
  TANDEM_TRY(const std::unique_ptr<Stream> stream, found->make_stream());
  TANDEM_CHECK_OK(stream->upload(to, from.data(), from.size()));
  return stream->synchronize();
}

Error cuda_error(cudaError_t code, const char* call) {
  Result<CudaDevice*> device = devices().current();
  if (!device.ok()) return gpu::native_error<CudaApi>(code, std::string{call} + " failed", {DeviceType::Cuda, -1});
  return (*device)->context().failed(code, std::string{call} + " failed");
}

}  // namespace tandem::device::cuda
