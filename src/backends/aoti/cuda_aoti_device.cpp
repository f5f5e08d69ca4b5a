#include "backends/aoti/cuda_aoti_device.h"

#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_copy.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/tensor_handle.h"

#include <algorithm>
#include <map>
#include <string>

namespace tandem::aoti {
namespace {

/// True.
bool refuse_for_graph(const char* what, const char* how) noexcept {
  try {
    note_refusal(std::string{"it calls for "} + what + ", which cannot be " + how, ErrorCode::NotSupported);
  } catch (...) {  // no memory for the text
  }
  return true;
}

}  // namespace

CudaAotiDevice::~CudaAotiDevice() {
  unload();
  if (blocks_.empty() && library_handle_ == nullptr) return;
  const CudaGpu::Scope scope{gpu_};
  library_handle_.reset();
  for (const Block& block : blocks_) functions().free(block.data);
}

std::byte* CudaAotiDevice::allocate(std::size_t bytes) noexcept try {
  bytes = std::max<std::size_t>(bytes, 1);
  const std::scoped_lock lock{mutex_};
  Block* best = nullptr;
  for (Block& block : blocks_) {
    // Twice as much would be a waste that lasts.
    if (block.used || block.bytes < bytes || block.bytes / 2 > bytes) continue;
    if (best == nullptr || block.bytes < best->bytes) best = &block;
  }
  if (best == nullptr) {
    blocks_.reserve(blocks_.size() + 1);
    const CudaGpu::Scope scope{gpu_};
    void* data = nullptr;
    if (functions().allocate(&data, bytes) != cudaSuccess) {
      functions().get_last_error();
      return nullptr;
    }
    best = &blocks_.emplace_back(static_cast<std::byte*>(data), bytes, false);
  }
  best->used = true;
  return best->data;
} catch (...) {  // no memory for the list
  return nullptr;
}

void CudaAotiDevice::release(std::byte* data) noexcept {
  const std::scoped_lock lock{mutex_};
  for (Block& block : blocks_) {
    if (block.data == data) block.used = false;
  }
}

bool CudaAotiDevice::owns(const std::byte* data) noexcept {
  const std::scoped_lock lock{mutex_};
  return std::ranges::any_of(blocks_, [data](const Block& block) { return block.used && block.data == data; });
}

std::byte* CudaAotiDevice::workspace(std::size_t bytes) noexcept {
  if (workspace_bytes_ < bytes) {
    if (workspace_ != nullptr) release(workspace_);
    workspace_ = allocate(bytes);
    workspace_bytes_ = workspace_ == nullptr ? 0 : bytes;
  }
  return workspace_;
}

bool CudaAotiDevice::may_enqueue(const char* what) const noexcept {
  return mode_ != Mode::Record || !refuse_for_graph(what, "recorded");
}

bool CudaAotiDevice::may_wait(const char* what) const noexcept {
  return mode_ == Mode::Run || !refuse_for_graph(what, mode_ == Mode::Record ? "recorded" : "captured");
}

bool CudaAotiDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (!may_enqueue("a copy")) return false;
  return bytes == 0 || functions().copy(to, from, bytes, cudaMemcpyDefault, stream_) == cudaSuccess;
}

std::int32_t CudaAotiDevice::aten_type() const noexcept { return kAtenCuda; }

const ShimTable& CudaAotiDevice::shims() const { return shim_table_cuda(); }

void CudaAotiDevice::begin(void* stream) noexcept {
  has_launched_ = false;
  has_overlap_ = false;
  if (depth_++ != 0) return;
  stream_ = stream != nullptr ? static_cast<cudaStream_t>(stream) : gpu_.stream();
  current_.emplace(gpu_);
}

void CudaAotiDevice::end() noexcept {
  if (--depth_ == 0) current_.reset();
}

Status CudaAotiDevice::finish() {
  const cudaError_t code = functions().stream_synchronize(gpu_.stream());
  if (code != cudaSuccess) return functions().error(code, "the delegate's first run").with_device(gpu_.name());
  const std::scoped_lock lock{mutex_};
  std::erase_if(blocks_,
                [this](const Block& block) { return !block.used && functions().free(block.data) == cudaSuccess; });
  return {};
}

void CudaAotiDevice::unload() noexcept {
  if (modules_.empty()) return;
  const CudaGpu::Scope scope{gpu_};
  for (CUmodule module : modules_) functions().module_unload(module);
  modules_.clear();
}

const char* CudaAotiDevice::copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept {
  if (!may_enqueue("a copy of elements")) return "it cannot be recorded";
  // A graph would copy what the host's memory holds when it runs, not what it holds now.
  const bool crosses = target.device_type == kAtenCpu || source.device_type == kAtenCpu;
  if (crosses && !may_wait("a copy between host and device")) return "it cannot be captured";
  return copy_on_stream(functions(), stream_, target, source);
}

bool CudaAotiDevice::clear(std::byte* data, std::size_t bytes) noexcept {
  if (!may_enqueue("a fill")) return false;
  return bytes == 0 || functions().fill(data, 0, bytes, stream_) == cudaSuccess;
}

bool CudaAotiDevice::read(void* to, const std::byte* from, std::size_t bytes) noexcept {
  if (!may_wait("a value of the device's on the host")) return false;
  return functions().copy(to, from, bytes, cudaMemcpyDeviceToHost, stream_) == cudaSuccess &&
         functions().stream_synchronize(stream_) == cudaSuccess;
}

Result<AotiDevice*> cuda_device(const CudaFunctions& functions, int index) {
  TANDEM_TRY(CudaGpu* const gpu, CudaGpu::find(functions, index));
  static auto* devices = new std::map<CudaGpu*, std::unique_ptr<CudaAotiDevice>>;  // as long as the process
  static auto* mutex = new std::mutex;
  const std::scoped_lock lock{*mutex};
  std::unique_ptr<CudaAotiDevice>& device = (*devices)[gpu];
  if (device == nullptr) device = std::make_unique<CudaAotiDevice>(*gpu);
  return device.get();
}

}  // namespace tandem::aoti
