#include "bench/suite/gpu/cuda_machine.h"

#include "bench/suite/gpu/kernels.h"
#include "cli/bench/gpu_tools.h"
#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace tandem::suite {
namespace {

using device::cuda::cuda_error;
using device::cuda::native;

Status check(cudaError_t code, const char* call) {
  return code == cudaSuccess ? Status{} : Status{cuda_error(code, call)};
}

dim3 dimensions(const unsigned (&size)[3]) { return {size[0], size[1], size[2]}; }

Status launch_on(cudaStream_t stream, const KernelCall& call) {
  const CudaKernel kernel = cuda_kernel(call);
  std::array<void*, 1> arguments{const_cast<KernelCall*>(&call)};
  return check(
      cudaLaunchKernel(kernel.symbol, dimensions(kernel.grid), dimensions(kernel.block), arguments.data(), 0, stream),
      "cudaLaunchKernel");
}

class CudaLauncher final : public Launcher {
 public:
  /// On the current device.
  static Result<std::shared_ptr<CudaLauncher>> create() {
    auto made = std::make_shared<CudaLauncher>();
    for (unsigned op = 0; op < kOps; ++op) {
      KernelCall call;
      call.op = static_cast<Op>(op);
      cudaFunction_t function{};
      TANDEM_CHECK_OK(check(cudaGetFuncBySymbol(&function, cuda_kernel(call).symbol), "cudaGetFuncBySymbol"));
      made->functions_[op] = function;
    }
    return made;
  }
  bool is_on_host() const noexcept override { return false; }
  Status launch(StreamRef stream, const KernelCall& call) override { return launch_on(native(stream.get()), call); }
  Status record(Recorder& recorder, const KernelCall& call) override {
    const CudaKernel kernel = cuda_kernel(call);
    std::array<void*, 1> arguments{const_cast<KernelCall*>(&call)};
    KernelLaunch launch;
    launch.function = functions_[static_cast<unsigned>(call.op)];
    launch.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]};
    launch.block = {kernel.block[0], kernel.block[1], kernel.block[2]};
    launch.arguments = arguments.data();
    return recorder.kernel(launch);
  }

 private:
  std::array<cudaFunction_t, kOps> functions_{};
};

class CudaGraph final : public RawGraph {
 public:
  explicit CudaGraph(cudaGraphExec_t exec) : exec_{exec} {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override { ignore(check(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy"), "nothing depends on it"); }
  [[nodiscard]] cudaGraphExec_t exec() const { return exec_; }

 private:
  cudaGraphExec_t exec_;
};

class CudaRawStream final : public RawStream {
 public:
  static Result<std::unique_ptr<RawStream>> create() {
    std::unique_ptr<CudaRawStream> made{new CudaRawStream};
    TANDEM_CHECK_OK(
        check(cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"));
    for (cudaEvent_t& event : made->events_) {
      TANDEM_CHECK_OK(check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags"));
    }
    return std::unique_ptr<RawStream>{std::move(made)};
  }
  CudaRawStream(const CudaRawStream&) = delete;
  CudaRawStream& operator=(const CudaRawStream&) = delete;
  ~CudaRawStream() override {
    for (const cudaEvent_t event : events_) {
      if (event != nullptr) ignore(check(cudaEventDestroy(event), "cudaEventDestroy"), "nothing depends on it");
    }
    if (stream_ != nullptr) ignore(check(cudaStreamDestroy(stream_), "cudaStreamDestroy"), "nothing depends on it");
  }

  Status launch(std::span<const KernelCall> calls) override {
    for (const KernelCall& call : calls) TANDEM_CHECK_OK(launch_on(stream_, call));
    return {};
  }
  Result<std::unique_ptr<RawGraph>> make_graph(std::span<const RawNode> nodes) override {
    cudaGraph_t graph{};
    TANDEM_CHECK_OK(check(cudaGraphCreate(&graph, 0), "cudaGraphCreate"));
    auto made = instantiate(graph, nodes);
    ignore(check(cudaGraphDestroy(graph), "cudaGraphDestroy"), "what was made of it is independent");
    return made;
  }
  Status launch(RawGraph& graph) override {
    return check(cudaGraphLaunch(static_cast<CudaGraph&>(graph).exec(), stream_), "cudaGraphLaunch");
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  Status record(std::size_t mark) override { return check(cudaEventRecord(events_[mark], stream_), "cudaEventRecord"); }
  Status wait(std::size_t mark) override { return check(cudaEventSynchronize(events_[mark]), "cudaEventSynchronize"); }

 private:
  CudaRawStream() = default;

  Result<std::unique_ptr<RawGraph>> instantiate(cudaGraph_t graph, std::span<const RawNode> nodes) {
    std::vector<cudaGraphNode_t> added;
    for (const RawNode& node : nodes) {
      std::vector<cudaGraphNode_t> after;
      for (const std::uint32_t index : node.after) after.push_back(added[index]);
      const CudaKernel kernel = cuda_kernel(node.call);
      std::array<void*, 1> arguments{const_cast<KernelCall*>(&node.call)};
      cudaKernelNodeParams parameters{};
      parameters.func = const_cast<void*>(kernel.symbol);
      parameters.gridDim = dimensions(kernel.grid);
      parameters.blockDim = dimensions(kernel.block);
      parameters.kernelParams = arguments.data();
      TANDEM_CHECK_OK(
          check(cudaGraphAddKernelNode(&added.emplace_back(), graph, after.data(), after.size(), &parameters),
                "cudaGraphAddKernelNode"));
    }
    cudaGraphExec_t exec{};
    TANDEM_CHECK_OK(check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate"));
    auto made = std::make_unique<CudaGraph>(exec);
    TANDEM_CHECK_OK(check(cudaGraphUpload(exec, stream_), "cudaGraphUpload"));
    return std::unique_ptr<RawGraph>{std::move(made)};
  }

  cudaStream_t stream_{};
  std::array<cudaEvent_t, kMarks> events_{};
};

class CudaMachine final : public Machine {
 public:
  CudaMachine(int index, std::string name, std::shared_ptr<CudaLauncher> launcher, cudaStream_t copies)
      : index_{index}, name_{std::move(name)}, launcher_{std::move(launcher)}, copies_{copies} {}
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;
  ~CudaMachine() override {
    ignore(check(cudaStreamDestroy(copies_), "cudaStreamDestroy"), "the program is at its end");
  }

  DeviceId device() const override { return {DeviceType::Cuda, static_cast<std::int16_t>(index_)}; }
  std::string describe() const override { return name_; }
  std::shared_ptr<Launcher> launcher() override { return launcher_; }
  Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override {
    options.device = device();
    TANDEM_TRY(auto method, Method::load(std::move(program), "forward", options));
    return std::unique_ptr<LoadedMethod>{new LoadedAs<Method>{std::move(method)}};
  }
  Result<Stream> make_stream() override { return Stream::create(device()); }
  Result<std::unique_ptr<RawStream>> make_raw_stream() override { return CudaRawStream::create(); }
  Result<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    void* data = nullptr;
    TANDEM_CHECK_OK(check(cudaMalloc(&data, bytes + 1), "cudaMalloc"));  // null for 0 bytes
    return std::shared_ptr<void>{data,
                                 [](void* memory) { ignore(check(cudaFree(memory), "cudaFree"), "a bench's own"); }};
  }
  Result<std::shared_ptr<void>> allocate_staging(std::size_t bytes) override {
    void* data = nullptr;
    TANDEM_CHECK_OK(check(cudaMallocHost(&data, bytes + 1), "cudaMallocHost"));
    return std::shared_ptr<void>{
        data, [](void* memory) { ignore(check(cudaFreeHost(memory), "cudaFreeHost"), "a bench's own"); }};
  }
  /// On a stream of its own: from pageable memory, a plain cudaMemcpy may return before the device has the bytes.
  Status copy_now(void* to, const void* from, std::size_t bytes) override {
    TANDEM_CHECK_OK(check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_), "cudaMemcpyAsync"));
    return check(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
  }
  Status enter_thread() override { return check(cudaSetDevice(index_), "cudaSetDevice"); }
  Result<std::optional<std::size_t>> launches_in(const std::function<Status()>& work) override {
    Status done;
    std::size_t launches = 0;
    const auto calls = cli::bench::count_driver_calls([&] { done = work(); });
    TANDEM_CHECK_OK(std::move(done));
    if (!calls) return std::nullopt;
    for (const auto& [name, count] : *calls) {
      if (name.starts_with("cuLaunchKernel") || name.starts_with("cuGraphLaunch")) launches += count;
    }
    return std::optional{launches};
  }
  std::optional<std::size_t> used_bytes() override {
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaDeviceSynchronize() != cudaSuccess || cudaMemGetInfo(&free, &total) != cudaSuccess) return {};
    return total - free;
  }

 private:
  int index_;
  std::string name_;
  std::shared_ptr<CudaLauncher> launcher_;
  cudaStream_t copies_;
};

}  // namespace

Result<std::unique_ptr<Machine>> make_cuda_machine(int device) {
  TANDEM_TRY([[maybe_unused]] device::cuda::CudaDevice* const found, device::cuda::find_device(device));
  TANDEM_CHECK_OK(check(cudaSetDevice(device), "cudaSetDevice"));
  cudaDeviceProp properties{};
  TANDEM_CHECK_OK(check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  int driver = 0;
  TANDEM_CHECK_OK(check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  const std::string name = fmt::format("{}, driver for CUDA {}.{}", properties.name, driver / 1000, driver % 1000 / 10);
  TANDEM_TRY(std::shared_ptr<CudaLauncher> launcher, CudaLauncher::create());
  cudaStream_t copies{};
  TANDEM_CHECK_OK(check(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"));
  return std::unique_ptr<Machine>{std::make_unique<CudaMachine>(device, name, std::move(launcher), copies)};
}

}  // namespace tandem::suite
