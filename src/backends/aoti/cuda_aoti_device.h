#pragma once

#include "backends/aoti/aoti_device.h"
#include "backends/aoti/cuda_gpu.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tandem::aoti {

/// A GPU as one container sees it.
///
/// Released memory is kept for the container's next allocations, and given back by finish() and when this object ends:
/// cudaFree waits for the whole device. All work of a container is in the order of its runs, so memory of one is free
/// for the next.
///
/// Thread-safety: allocate() and release() from any thread, the rest as AotiDevice.
class CudaAotiDevice final : public AotiDevice {
 public:
  explicit CudaAotiDevice(CudaGpu& gpu) noexcept : gpu_{gpu} {}
  CudaAotiDevice(const CudaAotiDevice&) = delete;
  CudaAotiDevice& operator=(const CudaAotiDevice&) = delete;
  ~CudaAotiDevice() override;

  std::byte* allocate(std::size_t bytes) noexcept override;
  void release(std::byte* data) noexcept override;
  bool copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept override;

  const char* name() const noexcept override { return gpu_.name().c_str(); }
  std::int32_t aten_type() const noexcept override;
  std::int32_t aten_index() const noexcept override { return gpu_.index(); }
  const ShimTable& shims() const override;
  bool runs_on_host() const noexcept override { return false; }

  Result<std::shared_ptr<AotiDevice>> for_container() override { return std::make_shared<CudaAotiDevice>(gpu_); }
  Result<std::shared_ptr<std::byte>> place(std::span<const std::byte> bytes) override { return gpu_.place(bytes); }
  Status upload(std::byte* to, std::span<const std::byte> from) override {
    return functions().upload(gpu_.index(), to, from);
  }

  void* native(device::Stream& stream) const noexcept override { return functions().native(stream); }
  void begin(void* stream) noexcept override;
  void end() noexcept override;
  void* stream() const noexcept override { return stream_; }
  void set_mode(Mode mode, Recorder* recorder) noexcept override {
    mode_ = mode;
    recorder_ = recorder;
  }
  Status finish() override;
  void unload() noexcept override;

  const char* copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept override;
  bool clear(std::byte* data, std::size_t bytes) noexcept override;
  bool read(void* to, const std::byte* from, std::size_t bytes) noexcept override;

  /// Null unless the container's launches are recorded.
  [[nodiscard]] Recorder* recorder() const noexcept { return recorder_; }
  /// Whether something other than a kernel may go to the stream. False, with the reason noted, while launches are
  /// recorded: the graph would lack it.
  [[nodiscard]] bool may_enqueue(const char* what) const noexcept;
  /// Whether the host may wait for the stream. False, with the reason noted, also while it captures.
  [[nodiscard]] bool may_wait(const char* what) const noexcept;
  [[nodiscard]] CudaGpu& gpu() const noexcept { return gpu_; }
  [[nodiscard]] const CudaFunctions& functions() const noexcept { return gpu_.functions(); }
  /// Whether allocate() gave out memory that starts there.
  [[nodiscard]] bool owns(const std::byte* data) noexcept;
  /// Memory for what a shim computes with, until the next call of this; null if there is none left. The work that uses
  /// it is in the order of the runs.
  [[nodiscard]] std::byte* workspace(std::size_t bytes) noexcept;
  /// What a library of CUDA keeps for the container; ends with it, while the device is current.
  [[nodiscard]] std::shared_ptr<void>& library_handle() noexcept { return library_handle_; }
  /// What unload() unloads. Throws bad_alloc.
  void keep(CUmodule module) { modules_.push_back(module); }
  /// The stream of begin() in place of those that CUDA itself has: the legacy stream and the calling thread's.
  [[nodiscard]] cudaStream_t stream_for(cudaStream_t stream) const noexcept {
    const bool is_cudas = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    return is_cudas ? stream_ : stream;
  }
  /// Counts a kernel that the library launches by itself. True for the first since begin(): the kernel before it on the
  /// stream may be another delegate's.
  [[nodiscard]] bool is_first_launch() noexcept { return !std::exchange(has_launched_, true); }
  /// Counts a launch that may overlap the kernel before it.
  void note_overlap() noexcept { has_overlap_ = true; }
  [[nodiscard]] bool has_overlap() const noexcept override { return has_overlap_; }

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool used = false;
  };

  CudaGpu& gpu_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<CUmodule> modules_;
  std::byte* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  std::shared_ptr<void> library_handle_;
  cudaStream_t stream_ = nullptr;
  Mode mode_ = Mode::Run;
  Recorder* recorder_ = nullptr;
  bool has_launched_ = false;
  bool has_overlap_ = false;
  int depth_ = 0;
  std::optional<CudaGpu::Scope> current_;
};

/// The device that delegates on `gpu` are loaded for; its containers get their own.
[[nodiscard]] Result<AotiDevice*> cuda_device(const CudaFunctions& functions, int index);

}  // namespace tandem::aoti
