#include "device/cuda/cuda_device.h"

#include "device/gpu/devices.h"

#include <string>
#include <utility>

namespace tandem::device::cuda {
namespace {

gpu::Devices<CudaApi>& devices() { return gpu::Devices<CudaApi>::instance(); }

/// Errors: as find_device(), if there is none.
Status any_device() {
  TANDEM_TRY([[maybe_unused]] CudaDevice* const first, find_device(0));
  return {};
}

/// A failure of no known device.
Error unknown(cudaError_t code, std::string what) {
  return gpu::native_error<CudaApi>(code, std::move(what), {DeviceType::Cuda, -1});
}

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
  TANDEM_CHECK_OK(any_device());
  int owner = 0;
  bool is_foreign = false;
  const cudaError_t code = CudaApi::stream_owner(stream, &owner, &is_foreign);
  if (code != cudaSuccess) return unknown(code, "the driver does not know the stream");
  TANDEM_TRY(CudaDevice* const device, find_device(owner));
  return device->borrow(stream);
}

Result<DeviceId> owner_of(const void* data) {
  TANDEM_CHECK_OK(any_device());
  PointerInfo info;
  if (const cudaError_t code = CudaApi::pointer_info(data, &info); code != cudaSuccess) {
    return unknown(code, "the driver does not know the memory");
  }
  if (info.place == PointerPlace::Device || info.place == PointerPlace::Managed) {
    TANDEM_TRY(CudaDevice* const owner, find_device(info.device));
    return owner->id();
  }
  return Error{ErrorCode::InvalidArgument, "memory of the host where a device's is wanted"}.with_expected(
      "device or managed memory",
      info.place == PointerPlace::PinnedHost ? "page-locked host memory" : "pageable host memory");
}

Status upload(int device, void* to, std::span<const std::byte> from) {
  TANDEM_TRY(CudaDevice* const found, find_device(device));
  TANDEM_TRY(const std::unique_ptr<Stream> stream, found->make_stream());
  TANDEM_CHECK_OK(stream->upload(to, from.data(), from.size()));
  return stream->synchronize();
}

Error cuda_error(cudaError_t code, const char* call) {
  Result<CudaDevice*> device = devices().current();
  std::string what = std::string{call} + " failed";
  return device.ok() ? (*device)->context().failed(code, std::move(what)) : unknown(code, std::move(what));
}

}  // namespace tandem::device::cuda
