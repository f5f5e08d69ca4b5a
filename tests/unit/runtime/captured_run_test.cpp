// Executions inside a capture of the caller's. The device is simulated.
#include "device/graph_owners.h"
#include "support/gpu_workshop.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using testing::add_on_gpu;
using testing::floats;
using testing::GpuWorkshop;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;

class CapturedRunTest : public ::testing::Test, public GpuWorkshop {
 protected:
  ~CapturedRunTest() override { device::sweep_kept(); }

  /// x + count, from device to device.
  void chain(int count) {
    auto last = gpu_tensor();
    b.inputs({last});
    for (int i = 0; i < count; ++i) {
      const auto next = gpu_tensor();
      b.delegate("Plus1", {last, next});
      last = next;
    }
    b.outputs({last});
  }
  ExecuteOptions on_stream() {
    ExecuteOptions options;
    options.stream = stream.ref();
    return options;
  }
  void launch(const std::shared_ptr<SimulatedGpu::CallersGraph>& graph) {
    ASSERT_TRUE(graph->launch(stream.ref()).ok());
    ASSERT_TRUE(stream.ref().synchronize().ok());
  }

  /// Before anything is added to the capture.
  void expect_refusal(const TestMethod& method, const std::vector<Value>& inputs, ErrorCode code,
                      const ExecuteOptions& options, const std::string& field) {
    SimulatedGpu::begin_capture(stream.ref());
    const auto refused = method.execute(inputs, options);
    const auto async = method.execute_async(inputs, options);
    const auto graph = SimulatedGpu::end_capture(stream.ref());
    EXPECT_FALSE(async.ok());
    EXPECT_TRUE(graph->nodes.empty());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), code) << refused.error().to_string();
    EXPECT_EQ(refused.error().site().field, field);
    EXPECT_EQ(refused.error().site().method, "forward");
  }

  Stream stream{*gpu.make_stream()};
  KernelBackend* plus1 = &add("Plus1", add_on_gpu(1));
};

TEST_F(CapturedRunTest, RunsWithTheCallersGraphWhateverItsInputsHoldThen) {
  chain(3);
  const auto method = load();
  const Tensor x = on_gpu(1);
  SimulatedGpu::begin_capture(stream.ref());
  const auto outputs = method->execute({x}, on_stream());
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto later = method->execute_async({outputs->front()}, on_stream());
  ASSERT_TRUE(later.ok()) << later.error().to_string();
  EXPECT_TRUE(*later->done().is_done());
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  EXPECT_EQ(gpu.counts().launches, 0) << "nothing ran";
  for (const float number : {1.F, 5.F, 9.F}) {
    write(x, number);
    launch(graph);
    EXPECT_EQ(first_of(outputs->front()), number + 3);
    EXPECT_EQ(first_of(later->get()->front()), number + 6);
  }
  // Other executions do not touch what the graph uses.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(method->execute({on_gpu(100)}, on_stream()).ok());
  launch(graph);
  EXPECT_EQ(first_of(outputs->front()), 12);
}

TEST_F(CapturedRunTest, TheGraphOutlivesTheMethodAndTheMethodTheGraph) {
  chain(2);
  const Tensor x = on_gpu(1);
  for (const bool method_goes_first : {true, false}) {
    auto method = load();
    SimulatedGpu::begin_capture(stream.ref());
    auto outputs = method->execute({x}, on_stream());
    ASSERT_TRUE(outputs.ok());
    auto graph = SimulatedGpu::end_capture(stream.ref());
    const Tensor y = outputs->front().tensor();
    *outputs = {};
    if (method_goes_first) method.reset();
    launch(graph);
    EXPECT_EQ(first_of(y), 3);
    graph.reset();
    method.reset();
  }
}

TEST_F(CapturedRunTest, BoundOutputsAndBranches) {
  const auto x = gpu_tensor();
  const auto a = gpu_tensor();
  const auto c = gpu_tensor();
  b.inputs({x}).outputs({a, c}).delegate("Plus1", {x, a}).delegate("Plus1", {x, c});
  MethodOptions branches;
  branches.graphs = GraphPolicy::Branches;
  const auto method = load(branches);
  const Tensor input = on_gpu(1);
  const std::array bound{on_gpu(0), Tensor{}};
  ExecuteOptions options = on_stream();
  options.outputs = bound;
  SimulatedGpu::begin_capture(stream.ref());
  const auto outputs = method->execute({input}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  launch(graph);
  EXPECT_EQ(first_of(bound[0]), 2);
  EXPECT_EQ(first_of((*outputs)[1]), 2);
}

TEST_F(CapturedRunTest, AnInputThatAStepWritesIsCopiedWithinTheGraph) {
  auto backend = std::make_shared<KernelBackend>(
      gpu, 1,
      [](const std::vector<TensorArg>& args) {
        for (std::int64_t i = 0; i < kSize; ++i) {
          static_cast<float*>(args[1].data)[i] = static_cast<float*>(args[0].data)[i] += 1;
        }
      },
      std::vector{AccessMode::Update, AccessMode::Write});
  ASSERT_TRUE(b.backends.register_backend("Bump", std::move(backend)).ok());
  const auto x = gpu_tensor();
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Bump", {x, y});
  const auto method = load();
  const Tensor input = on_gpu(1);
  SimulatedGpu::begin_capture(stream.ref());
  const auto outputs = method->execute({input}, on_stream());
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  for (int i = 0; i < 3; ++i) {
    launch(graph);
    EXPECT_EQ(first_of(outputs->front()), 2);
  }
  EXPECT_EQ(first_of(Value{input}), 1);
}

TEST_F(CapturedRunTest, AStateOfTheGraphsOwnGoesOnWithEachRun) {
  const auto x = gpu_tensor();
  const auto s = b.state({kSize}, 0, {10, 10, 10, 10});
  const auto y = gpu_tensor();
  auto backend = std::make_shared<KernelBackend>(
      gpu, 1,
      [](const std::vector<TensorArg>& args) {
        for (std::int64_t i = 0; i < kSize; ++i) {
          static_cast<float*>(args[2].data)[i] = static_cast<float*>(args[1].data)[i] +=
              static_cast<float*>(args[0].data)[i];
        }
      },
      std::vector{AccessMode::Read, AccessMode::Update, AccessMode::Write});
  ASSERT_TRUE(b.backends.register_backend("Accumulate", std::move(backend)).ok());
  b.inputs({x}).outputs({y}).delegate("Accumulate", {x, s, y});
  const auto method = load();
  const Tensor input = on_gpu(2);
  SimulatedGpu::begin_capture(stream.ref());
  const auto refused = method->execute({input}, on_stream());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidState);
  ExecuteOptions options = on_stream();
  options.state = method->new_state();
  const auto outputs = method->execute({input}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  for (const float expected : {12.F, 14.F, 16.F}) {
    launch(graph);
    EXPECT_EQ(first_of(outputs->front()), expected);
  }
}

TEST_F(CapturedRunTest, AViewOfAnInputReadsWhatTheInputHoldsThen) {
  plus1->want_a_run_first();
  const auto on_gpu_at = [this](std::vector<std::int64_t> sizes, std::int64_t offset) {
    const std::int32_t value = b.tensor(std::move(sizes), offset);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  };
  const auto x = on_gpu_at({kSize}, 0);
  const auto view = on_gpu_at({2, 2}, 0);
  const auto y = on_gpu_at({kSize}, 64);
  b.inputs({x}).outputs({y}).delegate("Plus1", {view, y});
  const auto method = load();
  const Tensor input = on_gpu(1);
  SimulatedGpu::begin_capture(stream.ref());
  const auto outputs = method->execute({input}, on_stream());
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  EXPECT_EQ(first_of(Value{input}), 1);
  for (const float number : {1.F, 5.F}) {
    write(input, number);
    launch(graph);
    EXPECT_EQ(first_of(outputs->front()), number + 1);
  }
}

TEST_F(CapturedRunTest, DelegatesThatHaveNeverRunRunOnceOnZeros) {
  chain(2);
  plus1->want_a_run_first();
  const auto method = load();
  const Tensor x = on_gpu(4);
  SimulatedGpu::begin_capture(stream.ref());
  const auto outputs = method->execute({x}, on_stream());
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto graph = SimulatedGpu::end_capture(stream.ref());
  EXPECT_EQ(gpu.counts().launches, 2);
  EXPECT_EQ(first_of(Value{x}), 4);
  launch(graph);
  EXPECT_EQ(first_of(outputs->front()), 6);
}

TEST_F(CapturedRunTest, ValuesOnTheHostAreRefusedByName) {
  const auto x = b.tensor({kSize});
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  expect_refusal(*load(), {floats({kSize}, {1, 2, 3, 4})}, ErrorCode::NotSupported, on_stream(), "input 0");
}

TEST_F(CapturedRunTest, AnOutputOnTheHostIsRefusedByName) {
  const auto x = gpu_tensor();
  const auto y = gpu_tensor();
  const auto z = b.tensor({kSize});
  b.inputs({x}).outputs({y, z}).delegate("Plus1", {x, y}).delegate("Plus1", {x, z});
  expect_refusal(*load(), {on_gpu(1)}, ErrorCode::NotSupported, on_stream(), "output 1");
}

TEST_F(CapturedRunTest, AStepOfTheHostIsRefusedByName) {
  const auto x = gpu_tensor();
  const auto h = b.tensor({kSize});
  const auto g = b.tensor({kSize});
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, h});
  b.kernel("aten::add.out", {h, h, b.number(1), g, g});
  b.delegate("Plus1", {g, y});
  expect_refusal(*load(), {on_gpu(1)}, ErrorCode::NotSupported, on_stream(), "");
}

TEST_F(CapturedRunTest, EventsToWaitForAreRefused) {
  chain(2);
  ExecuteOptions waits = on_stream();
  const std::array events{Event{}};
  waits.inputs_ready = events;
  expect_refusal(*load(), {on_gpu(1)}, ErrorCode::InvalidArgument, waits, "");
}

TEST_F(CapturedRunTest, ADelegateThatCanBeInNoGraphIsRefusedAndTheMethodStillRuns) {
  chain(2);
  const auto method = load();
  plus1->refuse_to_record();
  expect_refusal(*method, {on_gpu(1)}, ErrorCode::NotSupported, on_stream(), "");
  EXPECT_TRUE(method->execute({on_gpu(1)}, on_stream()).ok());
}

TEST_F(CapturedRunTest, NothingIsPreparedThere) {
  chain(2);
  const auto method = load();
  SimulatedGpu::begin_capture(stream.ref());
  EXPECT_EQ(method->prepare({on_gpu(1)}, on_stream()).error().code(), ErrorCode::InvalidState);
  static_cast<void>(SimulatedGpu::end_capture(stream.ref()));
}

}  // namespace
}  // namespace tandem
