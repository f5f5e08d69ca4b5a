// Delegates whose kernels may start before the kernel ahead of them has ended: what a delegate reads is what the one
// before it wrote. On a simulated GPU, where such a kernel always starts as early as it may, and on a real one.
#include "backends/aoti/cuda_backend.h"
#include "base/sha256.h"
#include "device/cuda/cuda_device.h"
#include "device/graph_owners.h"
#include "fake_kernels.h"
#include "simulated_cuda.h"
#include "support/method_builder.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using device::cuda::native;
using testing::MethodBuilder;
using testing::simulated_gpu;
using testing::SimulatedGpu;
using testing::TestMethod;

constexpr std::int64_t kSize = 1024;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file.good()) << path;
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A GPU, simulated or real, as the tests use it.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual device::Device& device() = 0;
  virtual const aoti::CudaFunctions& functions() = 0;
  /// Suffix of the libraries' names.
  virtual std::string suffix() = 0;
  virtual const void* kernels() = 0;
  /// Captures what `body` enqueues on the stream; the result launches it there.
  virtual std::function<void()> capture(StreamRef stream, const std::function<void()>& body) = 0;
};

class SimulatedMachine final : public Machine {
 public:
  device::Device& device() override { return simulated_gpu(); }
  const aoti::CudaFunctions& functions() override { return testing::simulated_cuda(); }
  std::string suffix() override { return "_simulated"; }
  const void* kernels() override { return launch_order::kKernels; }
  std::function<void()> capture(StreamRef stream, const std::function<void()>& body) override {
    SimulatedGpu::begin_capture(stream);
    body();
    return [graph = SimulatedGpu::end_capture(stream), stream] { EXPECT_TRUE(graph->launch(stream).ok()); };
  }
};

class CudaMachine final : public Machine {
 public:
  explicit CudaMachine(device::Device& device) : device_{device}, kernels_{bytes_of(TANDEM_FATBIN)} {}
  device::Device& device() override { return device_; }
  const aoti::CudaFunctions& functions() override { return aoti::cuda_functions(); }
  std::string suffix() override { return "_cuda"; }
  const void* kernels() override { return kernels_.data(); }
  std::function<void()> capture(StreamRef stream, const std::function<void()>& body) override {
    const device::cuda::DeviceScope scope{kGpu.index};
    cudaStream_t handle = native(stream.get());
    EXPECT_EQ(cudaStreamBeginCapture(handle, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    body();
    cudaGraph_t graph{};
    cudaGraphExec_t exec{};
    EXPECT_EQ(cudaStreamEndCapture(handle, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    const std::shared_ptr<CUgraphExec_st> kept{exec, [](cudaGraphExec_t gone) { cudaGraphExecDestroy(gone); }};
    return [kept, handle] { EXPECT_EQ(cudaGraphLaunch(kept.get(), handle), cudaSuccess); };
  }

 private:
  device::Device& device_;
  std::vector<std::byte> kernels_;
};

/// Backend whose delegates are of one library.
class LibraryBackend final : public Backend, private NamedData {
 public:
  LibraryBackend(const aoti::CudaFunctions& functions, const std::string& library)
      : functions_{functions}, code_{bytes_of(std::string{TANDEM_LIBRARIES} + "/" + library + ".so")} {
    const auto digest = base::sha256_hex(code_);
    EXPECT_TRUE(digest.ok());
    key_ = *digest + "_so_blob";
  }
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                            const LoadContext& context) const override {
    LoadContext with_library = context;
    with_library.named_data = this;
    const std::string payload = key_ + "\nweights";
    return aoti::make_cuda_backend(functions_)->prepare(std::as_bytes(std::span{payload}), with_library);
  }

 private:
  Result<std::span<const std::byte>> find(std::string_view key) const override {
    if (key == key_) return std::span{code_};
    return Error{ErrorCode::NotFound, "no such key"}.with_key(std::string{key});
  }

  const aoti::CudaFunctions& functions_;
  std::vector<std::byte> code_;
  std::string key_{};
};

class LaunchOrder : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      machine_ = std::make_unique<SimulatedMachine>();
    } else {
      const auto found = device::cuda::find_device(kGpu.index);
      if (!found.ok()) GTEST_SKIP() << "no CUDA device";
      machine_ = std::make_unique<CudaMachine>(**found);
    }
    stream_.emplace(*machine_->device().make_stream());
  }
  void TearDown() override { device::sweep_kept(); }

  /// A method that calls these libraries one after the other, from device to device.
  std::unique_ptr<TestMethod> load(const std::vector<std::string>& libraries, GraphPolicy graphs) {
    builders_.push_back(std::make_unique<MethodBuilder>());
    MethodBuilder& b = *builders_.back();
    const auto tensor = [&b] {
      const std::int32_t value = b.tensor({kSize}, MethodBuilder::kUnplanned, false, ScalarType::Float, 1);
      std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
      return value;
    };
    std::int32_t last = tensor();
    b.inputs({last});
    for (const std::string& library : libraries) {
      ignore(b.backends.register_backend(
                 library, std::make_shared<LibraryBackend>(machine_->functions(), library + machine_->suffix())),
             "it may be there already");
      const std::int32_t next = tensor();
      b.delegate(library, {last, next});
      last = next;
    }
    b.outputs({last});
    MethodOptions options;
    options.device = kGpu;
    options.graphs = graphs;
    auto method = std::make_unique<TestMethod>(b, machine_->device(), options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  /// Memory of the device.
  Tensor on_gpu() {
    auto memory = std::make_shared<device::Buffer>(*machine_->device().allocate(kSize * sizeof(float)));
    return *Tensor::from_blob(
        memory->data(), ScalarType::Float, std::array{kSize}, {}, [memory] {}, kGpu);
  }
  void write(const Tensor& tensor, float number) {
    const std::vector<float> values(kSize, number);
    ASSERT_TRUE(stream_->ref().synchronize().ok());
    ASSERT_TRUE(machine_->functions().upload(0, tensor.data(), std::as_bytes(std::span{values})).ok());
  }
  void expect(const Tensor& tensor, float number) {
    auto here = machine_->device().allocate_staging(kSize * sizeof(float));
    ASSERT_TRUE(here.ok());
    ASSERT_TRUE(stream_->ref().get().copy(here->data(), tensor.data(), kSize * sizeof(float)).ok());
    ASSERT_TRUE(stream_->ref().synchronize().ok());
    const std::span values{reinterpret_cast<const float*>(here->data()), static_cast<std::size_t>(kSize)};
    EXPECT_EQ(std::ranges::count(values, number), kSize) << "the first is " << values.front() << ", not " << number;
  }
  ExecuteOptions options() {
    ExecuteOptions made;
    made.stream = stream_->ref();
    return made;
  }
  Tensor execute(const TestMethod& method, const Tensor& input) {
    const auto execution = method.execute_async({input}, options());
    EXPECT_TRUE(execution.ok()) << execution.error().to_string();
    if (!execution.ok()) return {};
    const auto outputs = execution->get();
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? outputs->front().tensor() : Tensor{};
  }
  void expect_every_way(const std::vector<std::string>& libraries, float added) {
    for (const GraphPolicy graphs : {GraphPolicy::Off, GraphPolicy::On}) {
      SCOPED_TRACE(graphs == GraphPolicy::On ? "graphs on" : "graphs off");
      const auto method = load(libraries, graphs);
      const Tensor x = on_gpu();
      for (int i = 1; i < 8; ++i) {
        write(x, static_cast<float>(i));
        expect(execute(*method, x), 2 * static_cast<float>(i) + added);
      }
      const bool has_graphs =
          std::ranges::any_of(method->graphs(), [](const GraphInfo& info) { return info.nodes != 0; });
      EXPECT_EQ(has_graphs, graphs == GraphPolicy::On);
    }
    SCOPED_TRACE("in a capture of the caller's");
    const auto method = load(libraries, GraphPolicy::On);
    const Tensor x = on_gpu();
    Tensor y;
    const auto launch = machine_->capture(stream_->ref(), [&] {
      const auto outputs = method->execute({x}, options());
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      y = outputs->front().tensor();
    });
    ASSERT_TRUE(y.defined());
    for (int i = 1; i < 4; ++i) {
      write(x, static_cast<float>(10 * i));
      launch();
      expect(y, 20 * static_cast<float>(i) + added);
    }
  }

  std::unique_ptr<Machine> machine_;
  std::optional<Stream> stream_;
  std::vector<std::unique_ptr<MethodBuilder>> builders_;
};

/// Without Tandem such a kernel reads old bytes: the tests below see something.
TEST_P(LaunchOrder, KernelThatNeverWaitsOvertakesTheOneBefore) {
  const aoti::CudaFunctions& cuda = machine_->functions();
  int major = 0;
  ASSERT_EQ(cuda.device_attribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  if (major < 9) GTEST_SKIP() << "no kernel overtakes another before Hopper";
  const Tensor x = on_gpu();
  const Tensor y = on_gpu();
  const Tensor z = on_gpu();
  write(x, 5);
  write(y, 1);
  write(z, 0);
  aoti::CudaFunctions::Caller caller{};
  ASSERT_EQ(cuda.enter(0, &caller), cudaSuccess);
  CUmodule module{};
  CUfunction slow{};
  CUfunction early{};
  ASSERT_EQ(cuda.module_load(&module, machine_->kernels()), CUDA_SUCCESS);
  ASSERT_EQ(cuda.module_function(&slow, module, "slow_double"), CUDA_SUCCESS);
  ASSERT_EQ(cuda.module_function(&early, module, "add_early"), CUDA_SUCCESS);
  const auto stream = cuda.native(stream_->ref().get());
  const auto launch = [&](CUfunction function, const Tensor& out, const Tensor& in, bool overlaps) {
    void* to = out.data();
    void* from = in.data();
    std::int64_t count = kSize;
    std::array<void*, 4> arguments{&to, &from, &count, nullptr};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlaps ? 1 : 0;
    EXPECT_EQ(cuda.launch_kernel_ex(&config, function, arguments.data(), nullptr), CUDA_SUCCESS);
  };
  launch(slow, z, x, false);  // the driver loads kernels when they are first launched
  launch(early, z, x, false);
  expect(z, 6);
  launch(slow, y, x, false);
  launch(early, z, y, true);
  expect(z, 2);
  expect(y, 10);
  launch(slow, y, x, false);
  launch(early, z, y, false);
  expect(z, 11);
  EXPECT_EQ(cuda.module_unload(module), CUDA_SUCCESS);
  cuda.leave(caller);
}

TEST_P(LaunchOrder, DelegateReadsWhatTheOneBeforeItWrote) { expect_every_way({"slow_double", "add_one"}, 1); }

TEST_P(LaunchOrder, KernelsInsideADelegateKeepTheirOrder) { expect_every_way({"slow_double", "add_two"}, 2); }

TEST_P(LaunchOrder, SeveralSuchDelegatesInARow) { expect_every_way({"slow_double", "add_one", "add_two"}, 3); }

/// The next execution starts behind the last kernel of the one before, on the same stream.
TEST_P(LaunchOrder, ExecutionReadsWhatTheOneBeforeItWrote) {
  const auto slow = load({"slow_double"}, GraphPolicy::Off);
  const auto early = load({"add_one"}, GraphPolicy::Off);
  const Tensor x = on_gpu();
  for (int i = 1; i < 6; ++i) {
    write(x, static_cast<float>(i));
    const auto first = slow->execute_async({x}, options());
    ASSERT_TRUE(first.ok()) << first.error().to_string();
    const auto second = early->execute_async({first->outputs().front()}, options());
    ASSERT_TRUE(second.ok()) << second.error().to_string();
    const auto outputs = second->get();
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    expect(outputs->front().tensor(), 2 * static_cast<float>(i) + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, LaunchOrder, ::testing::Values(false, true),
                         [](const auto& machine) { return machine.param ? "cuda" : "simulated"; });

}  // namespace
}  // namespace tandem
