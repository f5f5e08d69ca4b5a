// The situations on a simulated GPU, whose streams interleave in another way for each seed.
#include "backends/tensorrt/tensorrt_backend.h"
#include "machine.h"
#include "support/program_method.h"
#include "support/reference_engine/simulated_gpu_runner.h"
#include "support/simulated_gpu.h"

#include <gtest/gtest.h>

#include <utility>

namespace tandem::split {
namespace {

using testing::KernelBackend;
using testing::ProgramMethod;
using testing::SimulatedGpu;

constexpr std::int64_t kSize = 24;

/// y = 2 - x, as the delegates of CudaBackend here compute it.
constexpr Link kCudaLink{-1, 2, false};

void run_cuda_link(const std::vector<TensorArg>& arguments) {
  const auto* const in = static_cast<const float*>(arguments.front().data);
  auto* const out = static_cast<float*>(arguments.back().data);
  for (std::int64_t i = 0; i < kSize; ++i) out[i] = kCudaLink.scale * in[i] + kCudaLink.amount;
}

class SimulatedGraph final : public CallersGraph {
 public:
  explicit SimulatedGraph(std::shared_ptr<SimulatedGpu::CallersGraph> graph) : graph_{std::move(graph)} {}
  Status launch(StreamRef stream) override { return graph_->launch(stream); }

 private:
  std::shared_ptr<SimulatedGpu::CallersGraph> graph_;
};

class SimulatedMachine final : public Machine {
 public:
  SimulatedMachine() {
    const std::shared_ptr<void> nothing;  // the machine owns them
    const std::shared_ptr<KernelBackend> cuda{nothing, &cuda_};
    const std::shared_ptr<const testing::ReferenceProvider> provider{nothing, &provider_};
    ignore(backends_.register_backend(kCuda, cuda), "the registry is empty");
    ignore(backends_.register_backend(kTensorRt, tensorrt::make_tensorrt_backend(provider)), "the id is free");
  }

  device::Device& device() override { return gpu_; }
  Status write(Writer& writer, Content content) override {
    const std::size_t pairs = content == Content::Split ? kPairs : 1;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      if (content != Content::OneEngine) writer.call_cuda(writer.delegate({.id = kCuda}));
      if (content != Content::OneCuda) call_engine_link(writer, pair);
    }
    return {};
  }
  std::vector<std::int64_t> sizes() const override { return {kSize}; }
  std::vector<float> input(std::size_t index) const override {
    std::vector<float> values;
    for (std::int64_t i = 0; i < kSize; ++i)
      values.push_back(static_cast<float>(index) + 0.125F * static_cast<float>(i));
    return values;
  }
  std::vector<Expected> mathematics() const override {
    std::vector<Link> links;
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      links.push_back(kCudaLink);
      links.push_back(engine_link(pair));
    }
    std::vector<Expected> all;
    for (std::size_t index = 0; index < kInputs; ++index) {
      Expected& expected = all.emplace_back(Expected{index});
      for (const float x : input(index)) expected.values.push_back(value_after(links, static_cast<double>(x)));
    }
    return all;
  }
  Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override {
    options.device = gpu_.id();
    options.backends = &backends_;
    TANDEM_TRY(auto method, ProgramMethod::load(std::move(program), "forward", gpu_, options));
    return std::unique_ptr<LoadedMethod>{new LoadedAs<ProgramMethod>{std::move(method)}};
  }
  /// Time is nothing here: the seed decides what comes first.
  Status spin(StreamRef stream, std::chrono::milliseconds /*time*/) override {
    return SimulatedGpu::launch(stream, [] {});
  }
  Result<std::unique_ptr<CallersGraph>> capture(StreamRef stream, int /*mode*/,
                                                const std::function<void()>& body) override {
    SimulatedGpu::begin_capture(stream);
    body();
    return std::unique_ptr<CallersGraph>{new SimulatedGraph{SimulatedGpu::end_capture(stream)}};
  }
  bool disturb() override { return gpu_.allocate(1 << 10).ok() && gpu_.thread_stream().synchronize().ok(); }
  Status abandon_captures() override {
    TANDEM_TRY(const auto builder, gpu_.make_graph());
    const Status abandoned = builder->capture([](device::Stream& stream) -> Status {
      TANDEM_CHECK_OK(SimulatedGpu::launch(StreamRef{stream}, [] { ADD_FAILURE() << "what was captured has run"; }));
      return Error{ErrorCode::BackendFailed, "half-way"};
    });
    return abandoned.ok() ? Status{Error{ErrorCode::Internal, "the capture went well"}} : Status{};
  }
  std::uint64_t rounds() const override { return 40; }
  void reseed(std::uint64_t seed) override { gpu_.reseed(seed); }
  WatchedRunner& runner() override { return runner_; }
  const testing::ReferenceProvider* provider() const override { return &provider_; }

 private:
  SimulatedGpu gpu_{1};
  testing::SimulatedGpuRunner kernels_{gpu_};
  WatchedRunner runner_{kernels_};
  testing::ReferenceProvider provider_{runner_};
  KernelBackend cuda_{gpu_, 1, run_cuda_link};
  BackendRegistry backends_;
};

}  // namespace

std::vector<MachineKind> machine_kinds() {
  return {{"simulated",
           [](std::string& /*why_not*/) -> std::unique_ptr<Machine> { return std::make_unique<SimulatedMachine>(); }}};
}

}  // namespace tandem::split
