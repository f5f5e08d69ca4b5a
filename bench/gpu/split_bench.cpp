// Delegates of CudaBackend and TensorRTBackend in turn on a GPU: step by step, with a wait after every delegate, and as
// one graph, alternating in one process.
//
//   tandem_split_bench [--device N] [--rounds N] FOLDER
//
// FOLDER is a recorded program whose delegates are a chain (tests/integration/split_program/recorded_chain.h), mlp for
// example; they are called in turn with reference engines, which run kernels of CUDA. Input and output are on the
// device. All three ways must give the same bits before anything is timed.
#include "backends/aoti/cuda_backend.h"
#include "backends/tensorrt/tensorrt_backend.h"
#include "bench/gpu/bench_tools.h"
#include "bench/gpu/driver_calls.h"
#include "cli/random_values.h"
#include "device/cuda/cuda_device.h"
#include "recorded_chain.h"
#include "support/reference_engine/cuda_runner.h"
#include "support/reference_engine/reference_provider.h"

#include <tandem/method.h>
#include <tandem/stream.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using bench::Clock;
using bench::must;
using bench::stop;
using bench::Times;

/// Waits for the device after every delegate, as code does that does not trust the order.
class WaitingBackend final : public Backend {
 public:
  explicit WaitingBackend(std::shared_ptr<Backend> inner) : inner_{std::move(inner)} {}
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    TANDEM_TRY(auto delegate, inner_->prepare(payload, context));
    return std::unique_ptr<Delegate>{new WaitingDelegate{std::move(delegate)}};
  }

 private:
  class WaitingContext final : public DelegateContext {
   public:
    explicit WaitingContext(std::unique_ptr<DelegateContext> inner) : inner_{std::move(inner)} {}
    Result<BoundLayout> bind(std::span<const Argument* const> arguments) override { return inner_->bind(arguments); }
    Status enqueue(EnqueueArgs& args) override {
      TANDEM_CHECK_OK(inner_->enqueue(args));
      return args.stream.synchronize();
    }

   private:
    std::unique_ptr<DelegateContext> inner_;
  };

  class WaitingDelegate final : public Delegate {
   public:
    explicit WaitingDelegate(std::unique_ptr<Delegate> inner) : inner_{std::move(inner)} {}
    DelegateCapabilities capabilities() const override {
      DelegateCapabilities capabilities = inner_->capabilities();
      capabilities.capturable = false;
      capabilities.recordable = false;
      return capabilities;
    }
    std::size_t output_count() const override { return inner_->output_count(); }
    std::vector<AccessMode> accesses(std::size_t count) const override { return inner_->accesses(count); }
    std::vector<AliasedOutput> aliased_outputs() const override { return inner_->aliased_outputs(); }
    Result<std::unique_ptr<DelegateContext>> new_context() const override {
      TANDEM_TRY(auto context, inner_->new_context());
      return std::unique_ptr<DelegateContext>{new WaitingContext{std::move(context)}};
    }

   private:
    std::unique_ptr<Delegate> inner_;
  };

  std::shared_ptr<Backend> inner_;
};

struct Way {
  const char* name = "";
  std::shared_ptr<Method> method{};
  Times whole{};  ///< Until the output is there.
  Times call{};   ///< Until the call returns.
};

/// The shortest engines that there are: what is measured is the host.
void write_engine(split::Writer& writer, std::size_t /*pair*/, bool ends_pass) {
  ends_pass ? writer.call_add_input({1.0F / 4096}) : writer.call_affine({});
}

int run(int argc, char** argv) {
  DeviceId device{DeviceType::Cuda, 0};
  int rounds = 1000;
  std::filesystem::path folder;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--device" && i + 1 < argc) {
      device.index = static_cast<std::int16_t>(std::atoi(argv[++i]));
    } else if (option == "--rounds" && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else {
      folder = option;
    }
  }
  device::cuda::CudaDevice& gpu = *must(device::cuda::find_device(device.index));
  must(cudaSetDevice(device.index));
  const split::RecordedChain chain = must(split::RecordedChain::read(folder));

  // The program, as a file.
  split::Writer writer{chain.sizes(), device};
  must(chain.write(writer, chain.passes_for(split::kPairs), write_engine));
  const split::Files files = must(writer.save(split::folder_for("bench")));
  const auto program = must(Program::load(files.pte, files.ptd));
  const double delegates = static_cast<double>(writer.calls().cuda + writer.calls().engines);

  testing::CudaRunner runner{gpu};
  const auto provider = std::make_shared<testing::ReferenceProvider>(runner, 256);
  const std::shared_ptr<Backend> cuda = aoti::make_cuda_backend();
  const std::shared_ptr<Backend> engines = tensorrt::make_tensorrt_backend(provider);
  BackendRegistry ordered;
  must(ordered.register_backend(split::kCuda, cuda));
  must(ordered.register_backend(split::kTensorRt, engines));
  BackendRegistry waiting;
  must(waiting.register_backend(split::kCuda, std::make_shared<WaitingBackend>(cuda)));
  must(waiting.register_backend(split::kTensorRt, std::make_shared<WaitingBackend>(engines)));

  constexpr int kCounted = 50;
  const auto load = [&](const BackendRegistry& backends, GraphPolicy graphs) {
    MethodOptions options;
    options.device = device;
    options.backends = &backends;
    options.graphs = graphs;
    options.max_in_flight = 2 * kCounted;  // no call waits for the one before it
    return must(Method::load(program, "forward", options));
  };
  std::array<Way, 3> ways{Way{"step by step", load(ordered, GraphPolicy::Off)},
                          Way{"a wait after every delegate", load(waiting, GraphPolicy::Off)},
                          Way{"one graph", load(ordered, GraphPolicy::On)}};

  const std::array inputs{Value{must(must(cli::random_tensor(ScalarType::Float, chain.sizes(), 1, 0)).to(device))}};
  const Stream stream = must(Stream::create(device));
  ExecuteOptions on_stream;
  on_stream.stream = stream;
  std::string expected;
  for (Way& way : ways) {
    for (int i = 0; i < 30; ++i) {
      const auto execution = must(way.method->execute_async(inputs, on_stream));
      const Tensor y = must(must(execution.get()).front().tensor().to(DeviceId{}));
      const std::string bytes{y.data_as<char>(), y.nbytes()};
      if (expected.empty()) expected = bytes;
      if (bytes != expected) stop(fmt::format("{}, run {}: not the bits of the first run", way.name, i));
    }
  }
  const std::vector<GraphInfo> graphs = ways[2].method->graphs();
  if (graphs.size() != 1 || !graphs.front().in_use) {
    stop(fmt::format("not one graph but {}: {}", graphs.size(), graphs.empty() ? "" : graphs.front().refusal));
  }

  for (int i = 0; i < rounds; ++i) {
    for (Way& way : ways) {
      const auto begin = Clock::now();
      const auto execution = must(way.method->execute_async(inputs, on_stream));
      const auto returned = Clock::now();
      must(execution.done().synchronize());
      const auto end = Clock::now();
      way.call.add(returned - begin);
      way.whole.add(end - begin);
    }
  }
  fmt::print("{}: {} calls of CudaBackend and {} of TensorRTBackend in turn, {} rounds\n", folder.string(),
             writer.calls().cuda, writer.calls().engines, rounds);
  for (Way& way : ways) {
    fmt::print("  {:<28} p50 {:8.1f}  p99 {:8.1f} us; the call p50 {:8.1f} us, {:6.2f} us a delegate\n", way.name,
               way.whole.at(50), way.whole.at(99), way.call.at(50), way.call.at(50) / delegates);
  }
  fmt::print("  graph: {} nodes\n", graphs.front().nodes);
  for (Way& way : ways) {
    // Outputs that are dropped come back: all calls have the same addresses.
    const std::string text = bench::driver_calls_text(
        kCounted, [&] { static_cast<void>(must(way.method->execute_async(inputs, on_stream))); });
    must(stream.synchronize());
    fmt::print("  driver calls a call, {}: {}\n", way.name, text);
  }
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) { return tandem::run(argc, argv); }
