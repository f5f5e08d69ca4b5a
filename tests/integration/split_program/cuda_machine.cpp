// The situations on a CUDA device, with delegates of recorded programs and engines that run CUDA's kernels.
//
//   TANDEM_PROGRAMS          folders of recorded programs (docs/case-folder.md), separated by colons
//   TANDEM_REQUIRE_DEVICES   with "cuda" in it: no GPU, or no program race2, is a failure
//   TANDEM_TENSORRT_ENGINE   a serialised engine for the twin over TensorRT itself: one float input and one float
//   output
//                            of the sizes [64, 256], whatever it computes
#include "backends/aoti/cuda_backend.h"
#include "backends/tensorrt/tensorrt_backend.h"
#include "backends/tensorrt/write_blob.h"
#include "base/mapped_file.h"
#include "cli/random_values.h"
#include "device/cuda/cuda_device.h"
#include "machine.h"
#include "recorded_chain.h"
#include "support/reference_engine/cuda_kernels.h"
#include "support/reference_engine/cuda_runner.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace tandem::split {
namespace {

using device::cuda::cuda_error;
using device::cuda::CudaDevice;
using device::cuda::DeviceScope;
using device::cuda::native;

constexpr DeviceId kGpu{DeviceType::Cuda, 0};

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Status check(cudaError_t code, const char* call) {
  return code == cudaSuccess ? Status{} : Status{cuda_error(code, call)};
}

class NativeGraph final : public CallersGraph {
 public:
  explicit NativeGraph(cudaGraphExec_t exec) noexcept : exec_{exec} {}
  ~NativeGraph() override { ignore(check(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy"), "a test's own graph"); }
  NativeGraph(const NativeGraph&) = delete;
  NativeGraph& operator=(const NativeGraph&) = delete;
  Status launch(StreamRef stream) override {
    return check(cudaGraphLaunch(exec_, native(stream.get())), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t exec_;
};

class CudaMachine final : public Machine {
 public:
  /// `engine`: the payload of TensorRT's own engines; empty: reference engines.
  CudaMachine(CudaDevice& device, RecordedChain chain, std::vector<std::byte> engine)
      : device_{device}, chain_{std::move(chain)}, engine_{std::move(engine)}, kernels_{device} {
    ignore(backends_.register_backend(kCuda, aoti::make_cuda_backend()), "the registry is empty");
    const std::shared_ptr<const testing::ReferenceProvider> reference{std::shared_ptr<void>{}, &provider_};
    ignore(backends_.register_backend(kTensorRt, engine_.empty() ? tensorrt::make_tensorrt_backend(reference)
                                                                 : tensorrt::make_tensorrt_backend()),
           "the id is free");
  }

  device::Device& device() override { return device_; }
  Status write(Writer& writer, Content content) override {
    switch (content) {
      case Content::Split:
        return chain_.write(writer, chain_.passes_for(kPairs), [this](Writer& to, std::size_t pair, bool ends_pass) {
          engine_.empty() ? write_reference_engine(to, pair, ends_pass) : to.call_engine(engine_);
        });
      case Content::OneCuda:
        return chain_.write_first(writer);
      case Content::OneEngine:
        engine_.empty() ? writer.call_affine({2, 1, kLongCycles, true}) : writer.call_engine(engine_);
        return {};
    }
    return {};
  }
  std::vector<std::int64_t> sizes() const override { return chain_.sizes(); }
  /// The recorded ones first.
  std::vector<float> input(std::size_t index) const override {
    const auto recorded = chain_.recorded(/*outputs=*/false);
    const Tensor tensor = recorded.ok() && index < recorded->size()
                              ? (*recorded)[index].front().tensor()
                              : *cli::random_tensor(ScalarType::Float, chain_.sizes(), 100 + index, 0);
    const auto* const data = tensor.data_as<float>();
    return {data, data + tensor.numel()};
  }
  std::vector<Expected> mathematics() const override {
    std::vector<Expected> all;
    const auto outputs = chain_.recorded(/*outputs=*/true);
    if (!outputs.ok() || !engine_.empty()) return all;
    const cli::Tolerance tolerance = chain_.tolerance();
    for (std::size_t i = 0; i < std::min(outputs->size(), kInputs); ++i) {
      const Tensor& tensor = (*outputs)[i].front().tensor();
      const auto* const data = tensor.data_as<float>();
      // Passes after the first get an input that is a little off.
      all.push_back({i, {data, data + tensor.numel()}, 2 * std::max({tolerance.rtol, tolerance.atol, 2e-3})});
    }
    return all;
  }
  Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override {
    options.device = kGpu;
    options.backends = &backends_;
    TANDEM_TRY(auto method, Method::load(std::move(program), "forward", options));
    return std::unique_ptr<LoadedMethod>{new LoadedAs<Method>{std::move(method)}};
  }
  Status spin(StreamRef stream, std::chrono::milliseconds time) override {
    const DeviceScope scope{kGpu.index};
    return check(testing::launch_spin(native(stream.get()), static_cast<unsigned long long>(time.count()) * 1'000'000),
                 "launch_spin");
  }
  Result<std::unique_ptr<CallersGraph>> capture(StreamRef stream, int mode,
                                                const std::function<void()>& body) override {
    const DeviceScope scope{kGpu.index};
    constexpr std::array kModes{cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                cudaStreamCaptureModeRelaxed};
    cudaStream_t handle = native(stream.get());
    TANDEM_CHECK_OK(
        check(cudaStreamBeginCapture(handle, kModes.at(static_cast<std::size_t>(mode))), "cudaStreamBeginCapture"));
    body();
    cudaGraph_t graph{};
    TANDEM_CHECK_OK(check(cudaStreamEndCapture(handle, &graph), "cudaStreamEndCapture"));
    cudaGraphExec_t exec{};
    Status made = check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    TANDEM_CHECK_OK(check(cudaGraphDestroy(graph), "cudaGraphDestroy"));
    TANDEM_CHECK_OK(std::move(made));
    return std::unique_ptr<CallersGraph>{new NativeGraph{exec}};
  }
  bool disturb() override {
    const DeviceScope scope{kGpu.index};
    void* memory = nullptr;
    bool fine = cudaMalloc(&memory, 1 << 20) == cudaSuccess;
    fine = cudaDeviceSynchronize() == cudaSuccess && fine;
    fine = cudaFree(memory) == cudaSuccess && fine;
    static_cast<void>(cudaGetLastError());
    return fine;
  }
  Status abandon_captures() override {
    TANDEM_CHECK_OK(abandon_graph());
    TANDEM_CHECK_OK(abandon_native(/*is_broken=*/false));
    return abandon_native(/*is_broken=*/true);
  }
  std::uint64_t rounds() const override { return 8; }
  void reseed(std::uint64_t /*seed*/) override {}  // the GPU does as it likes
  WatchedRunner& runner() override { return runner_; }
  const testing::ReferenceProvider* provider() const override { return engine_.empty() ? &provider_ : nullptr; }

 private:
  /// As Tandem captures.
  Status abandon_graph() {
    TANDEM_TRY(const auto builder, device_.make_graph());
    const Status abandoned = builder->capture([](device::Stream& stream) -> Status {
      TANDEM_CHECK_OK(check(testing::launch_spin(native(stream), 1000), "launch_spin in a capture"));
      return Error{ErrorCode::BackendFailed, "half-way"};
    });
    return abandoned.ok() ? Status{Error{ErrorCode::Internal, "the capture went well"}} : Status{};
  }
  /// As users' code captures. Its graph goes unused, or is never made because a wait breaks the capture.
  Status abandon_native(bool is_broken) {
    const DeviceScope scope{kGpu.index};
    cudaStream_t stream{};
    TANDEM_CHECK_OK(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"));
    Status done = check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    if (done.ok()) done = check(testing::launch_spin(stream, 1000), "launch_spin in a capture");
    if (done.ok() && is_broken) {
      if (cudaStreamSynchronize(stream) == cudaSuccess)
        done = Error{ErrorCode::Internal, "a wait in a capture went well"};
      static_cast<void>(cudaGetLastError());
    }
    cudaGraph_t graph{};
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (done.ok() && (ended == cudaSuccess) == is_broken) done = cuda_error(ended, "cudaStreamEndCapture");
    static_cast<void>(cudaGetLastError());
    if (graph != nullptr) ignore(check(cudaGraphDestroy(graph), "cudaGraphDestroy"), "a test's own graph");
    ignore(check(cudaStreamDestroy(stream), "cudaStreamDestroy"), "a test's own stream");
    return done;
  }

  CudaDevice& device_;
  RecordedChain chain_;
  std::vector<std::byte> engine_;
  testing::CudaRunner kernels_;
  WatchedRunner runner_{kernels_};
  testing::ReferenceProvider provider_{runner_, 256};
  BackendRegistry backends_;
};

/// The first folder of TANDEM_PROGRAMS that has the name and is a chain.
std::optional<RecordedChain> find_chain(std::string_view name, std::string& why_not) {
  const std::string folders = setting("TANDEM_PROGRAMS");
  why_not = "TANDEM_PROGRAMS names no recorded program " + std::string{name};
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::filesystem::path folder = folders.substr(begin, end - begin);
    begin = end + 1;
    if (folder.filename() != name) continue;
    auto chain = RecordedChain::read(folder);
    if (chain.ok()) return *std::move(chain);
    why_not = folder.string() + ": " + chain.error().to_string();
  }
  return {};
}

std::unique_ptr<Machine> make_machine(std::string_view program, std::vector<std::byte> engine, std::string& why_not) {
  const auto found = device::cuda::find_device(kGpu.index);
  if (!found.ok()) {
    why_not = found.error().to_string();
    return nullptr;
  }
  auto chain = find_chain(program, why_not);
  if (!chain) return nullptr;
  return std::make_unique<CudaMachine>(**found, *std::move(chain), std::move(engine));
}

/// The twin over TensorRT itself.
std::unique_ptr<Machine> make_tensorrt_machine(std::string& why_not) {
  if (const Status available = tensorrt::make_tensorrt_backend()->available(); !available.ok()) {
    why_not = available.error().to_string();
    return nullptr;
  }
  const std::string file = setting("TANDEM_TENSORRT_ENGINE");
  if (file.empty()) {
    why_not = "TANDEM_TENSORRT_ENGINE names no engine with a float input and a float output of the sizes [64, 256]";
    return nullptr;
  }
  const auto engine = base::MappedFile::open(file);
  if (!engine.ok()) {
    why_not = engine.error().to_string();
    return nullptr;
  }
  tensorrt::Blob contents;
  contents.engine = engine->bytes();
  auto payload = tensorrt::write_blob(contents);
  if (!payload.ok()) {
    why_not = payload.error().to_string();
    return nullptr;
  }
  return make_machine("race2", *std::move(payload), why_not);
}

}  // namespace

std::vector<MachineKind> machine_kinds() {
  const bool is_required = setting("TANDEM_REQUIRE_DEVICES").find("cuda") != std::string::npos;
  const auto kind = [](const char* program, bool required) {
    return MachineKind{std::string{"cuda_"} + program,
                       [program](std::string& why_not) { return make_machine(program, {}, why_not); }, required};
  };
  return {kind("race2", is_required),
          kind("mlp", is_required),
          kind("split25", false),
          {"cuda_race2_with_tensorrt", make_tensorrt_machine}};
}

}  // namespace tandem::split
