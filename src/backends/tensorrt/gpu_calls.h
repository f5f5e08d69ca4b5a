#pragma once

#include <tandem/result.h>

#include <memory>
#include <type_traits>

namespace tandem::device {
class Stream;
}

namespace tandem::tensorrt {

/// What the plug-in needs of Tandem's CUDA devices, which a build need not have.
/// Thread-safety: every member may be called from any thread.
class GpuCalls {
 public:
  virtual ~GpuCalls() = default;
  /// Errors: NotSupported, this build has no CUDA, or the machine no GPU.
  [[nodiscard]] virtual Status available() const = 0;
  /// Calls `work`, which returns a Status, with the GPU current. Errors: those of `work`; NotFound; DeviceFault.
  template <class Work>
  [[nodiscard]] Status on_device(int index, Work&& work) const {
    return call_on_device(
        index, [](void* data) { return (*static_cast<std::remove_reference_t<Work>*>(data))(); }, &work);
  }
  /// The cudaStream_t. Precondition: a stream of a CUDA device.
  [[nodiscard]] virtual void* native(device::Stream& stream) const noexcept = 0;
  /// A non-blocking stream of the GPU's. Errors: OutOfMemory; NotFound.
  [[nodiscard]] virtual Result<std::unique_ptr<device::Stream>> make_stream(int index) const = 0;

 protected:
  /// Not a std::function: nothing is allocated on a running path.
  [[nodiscard]] virtual Status call_on_device(int index, Status (*work)(void* data), void* data) const = 0;
};

/// Of this build.
[[nodiscard]] const GpuCalls& gpu_calls();

}  // namespace tandem::tensorrt
