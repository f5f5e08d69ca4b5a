// Graphs at bad moments: results stay right, nothing is stale, and what failed once is in nobody's way. The device is
// simulated; tests/gpu has the moments that take a real one.
#include "support/gpu_workshop.h"

#include <tandem/stream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::add_on_gpu;
using testing::floats;
using testing::GpuWorkshop;
using ::testing::HasSubstr;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

class BadMomentsTest : public ::testing::Test, public GpuWorkshop {
 protected:
  /// x + 2, from device to device.
  void program() {
    const auto x = gpu_tensor();
    const auto a = gpu_tensor();
    const auto y = gpu_tensor();
    b.inputs({x}).outputs({y}).delegate("First", {x, a}).delegate("Second", {a, y});
  }
  std::unique_ptr<TestMethod> load_graphs(std::uint32_t max_graphs = 16) {
    MethodOptions options;
    options.graphs = GraphPolicy::On;
    options.max_graphs = max_graphs;
    return load(options);
  }
  void expect_right(const TestMethod& method, const Tensor& input, int runs = 4) {
    for (int i = 0; i < runs; ++i) {
      write(input, static_cast<float>(i));
      const auto outputs = method.execute({input});
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      ASSERT_TRUE(gpu.thread_stream().synchronize().ok());
      EXPECT_EQ(*static_cast<const float*>(outputs->front().tensor().data()), static_cast<float>(i) + 2);
    }
  }

  std::vector<KernelBackend*> backends{&add("First", add_on_gpu(1)), &add("Second", add_on_gpu(1))};
};

TEST_F(BadMomentsTest, ACaptureThatFailsInTheMiddleFiftyTimes) {
  program();
  for (KernelBackend* one : backends) {
    one->refuse_to_record();
    one->allow_capture();
  }
  backends[1]->refuse_to_be_captured();
  const auto method = load_graphs(64);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 50; ++i) expect_right(*method, inputs.emplace_back(on_gpu(0)));
  EXPECT_EQ(gpu.counts().graphs, 0);
  EXPECT_THAT(method->graphs().front().refusal, HasSubstr("it does not want to be captured"));
  EXPECT_FALSE(*gpu.thread_stream().is_capturing());

  backends[1]->be_captured_again();
  expect_right(*method, on_gpu(0), 8);
  EXPECT_GT(gpu.counts().graph_launches, 0) << "a later good one runs, with fresh inputs";
}

TEST_F(BadMomentsTest, NoMemoryForAGraph) {
  program();
  const auto method = load_graphs();
  gpu.fail_graphs(/*making=*/2, /*launching=*/0);
  const std::array inputs{on_gpu(0), on_gpu(0), on_gpu(0)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    expect_right(*method, inputs[i], 6);
    EXPECT_EQ(gpu.counts().graph_launches > 0, i == 2);
    EXPECT_EQ(method->graphs().front().refusal.find("OutOfMemory") != std::string::npos, i < 2);
  }
}

TEST_F(BadMomentsTest, ALaunchThatFailsIsNamedAndTheNextOneIsRight) {
  program();
  const auto method = load_graphs();
  const Tensor input = on_gpu(0);
  expect_right(*method, input);
  gpu.fail_graphs(/*making=*/0, /*launching=*/1);
  const auto failed = method->execute({input});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "a graph cannot be launched");
  EXPECT_EQ(failed.error().site().method, "forward");
  EXPECT_EQ(failed.error().site().instruction, 0);
  expect_right(*method, input);
}

TEST_F(BadMomentsTest, GraphsThatGoWhileTheyAreUnderWay) {
  program();
  const auto method = load_graphs(1);  // each new address takes the last one's graph away
  const Stream stream{*gpu.make_stream()};
  ExecuteOptions options;
  options.stream = stream.ref();
  const std::array inputs{on_gpu(1), on_gpu(2)};
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    gpu.reseed(seed);
    std::vector<Execution> executions;
    for (std::size_t i = 0; i < 8; ++i) {
      auto execution = method->execute_async({inputs[i / 4]}, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const auto outputs = executions[i].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      EXPECT_EQ(*static_cast<const float*>(outputs->front().tensor().data()), static_cast<float>(i / 4) + 3);
    }
  }
  EXPECT_GT(gpu.counts().graph_launches, 0);
}

TEST_F(BadMomentsTest, ThreadsStreamsAndAddressesThatChangeBetweenReplays) {
  program();
  const auto method = load_graphs();
  const std::array inputs{on_gpu(0), on_gpu(0)};
  for (int round = 0; round < 20; ++round) {
    std::thread{[&] { expect_right(*method, inputs[static_cast<std::size_t>(round) % 2], 3); }}.join();
    const Stream stream{*gpu.make_stream()};
    const CallerStreamGuard guard{stream};
    const auto outputs = method->execute({inputs[0]});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    ASSERT_TRUE(stream.synchronize().ok());
  }
  EXPECT_GT(gpu.counts().graph_launches, 60);
}

}  // namespace
}  // namespace tandem
