// Device memory of the caller's that never comes back: graphs at slots of the instance's. The device is simulated.
#include "runtime/execute/slot_choice.h"
#include "support/gpu_workshop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace tandem {
namespace {

using testing::add_on_gpu;
using testing::GpuWorkshop;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;

class SlotsTest : public ::testing::Test, public GpuWorkshop {
 protected:
  SlotsTest() {
    add("Plus1", add_on_gpu(1));
    auto last = gpu_tensor();
    b.inputs({last});
    for (int i = 0; i < 5; ++i) {
      const auto next = gpu_tensor();
      b.delegate("Plus1", {last, next});
      last = next;
    }
    b.outputs({last});
  }
  std::unique_ptr<TestMethod> load_few_graphs(GraphPolicy graphs = GraphPolicy::On) {
    MethodOptions options;
    options.graphs = graphs;
    options.max_graphs = 3;
    return load(options);
  }
  /// At an address that no other has, as long as the test runs.
  Tensor new_tensor(float number) { return kept.emplace_back(on_gpu(number)); }
  Tensor run(const TestMethod& method, const Tensor& input, const ExecuteOptions& options = {}) {
    const auto outputs = method.execute({input}, options);
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_TRUE(gpu.thread_stream().synchronize().ok());
    EXPECT_EQ(first_of(outputs->front().tensor()), first_of(input) + 5);
    return outputs->front().tensor();
  }

  std::vector<Tensor> kept;
};

TEST_F(SlotsTest, InputsThatAreAlwaysNewGoThroughOne) {
  const auto method = load_few_graphs();
  for (int i = 0; i < 20; ++i) {
    gpu.reset_counts();
    run(*method, new_tensor(static_cast<float>(i)));
    EXPECT_EQ(gpu.counts().graph_launches, i < 6 ? 0 : 1) << "run " << i;
    EXPECT_EQ(gpu.counts().copies, i < 4 ? 0 : 2) << "run " << i;
  }
}

TEST_F(SlotsTest, OutputsThatTheCallerKeepsAndBoundOnesToo) {
  const auto method = load_few_graphs();
  const Tensor input = new_tensor(1);
  std::vector<Tensor> results;
  for (int i = 0; i < 20; ++i) {
    gpu.reset_counts();
    if (i % 2 == 0) {
      results.push_back(run(*method, input));
    } else {
      const std::array bound{new_tensor(0)};
      ExecuteOptions options;
      options.outputs = bound;
      results.push_back(run(*method, input, options));
      EXPECT_EQ(results.back().data(), bound[0].data());
    }
    EXPECT_EQ(gpu.counts().graph_launches, i < 6 ? 0 : 1) << "run " << i;
  }
  for (const Tensor& result : results) EXPECT_EQ(first_of(result), 6);
}

TEST_F(SlotsTest, AddressesThatComeBackAreUsedInPlaceAgain) {
  const auto method = load_few_graphs();
  for (int i = 0; i < 10; ++i) run(*method, new_tensor(1));
  const std::array inputs{new_tensor(1), new_tensor(2)};
  for (int i = 0; i < 40; ++i) run(*method, inputs[static_cast<std::size_t>(i) % 2]);
  gpu.reset_counts();
  for (int i = 0; i < 4; ++i) run(*method, inputs[static_cast<std::size_t>(i) % 2]);
  EXPECT_EQ(gpu.counts().copies, 0);
  EXPECT_EQ(gpu.counts().graph_launches, 4);
}

TEST_F(SlotsTest, AFewAddressesInTurnGetAGraphEachAndNoCopy) {
  const auto method = load_few_graphs();
  const std::array inputs{new_tensor(1), new_tensor(2), new_tensor(3)};
  for (int i = 0; i < 30; ++i) run(*method, inputs[static_cast<std::size_t>(i) % 3]);
  EXPECT_EQ(gpu.counts().copies, 0);
  EXPECT_EQ(gpu.counts().graph_launches, 30 - 6);
}

TEST_F(SlotsTest, AutoTakesThemOnlyWhereTheyAreFaster) {
  const auto method = load_few_graphs(GraphPolicy::Auto);
  for (int i = 0; i < 60; ++i) run(*method, new_tensor(static_cast<float>(i)));
  // Both ways have been tried, whichever won.
  EXPECT_GE(gpu.counts().graph_launches, static_cast<int>(runtime::Trial::kSamples));
  EXPECT_GE(gpu.counts().launches, 5 * static_cast<int>(runtime::Trial::kSamples));
}

TEST_F(SlotsTest, TheMethodsThatGetNoDeviceMemoryOfCallersHaveNone) {
  MethodBuilder host;
  ASSERT_TRUE(host.backends.register_backend("Plus1", std::make_shared<KernelBackend>(gpu, 1, add_on_gpu(1))).ok());
  const auto x = host.tensor({kSize});
  const auto y = host.tensor({kSize});
  host.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  MethodOptions options;
  options.device = kGpu;
  options.graphs = GraphPolicy::On;
  options.max_graphs = 1;
  const TestMethod method{host, gpu, options};
  for (int i = 0; i < 20; ++i) {
    gpu.reset_counts();
    EXPECT_TRUE(method.execute({testing::floats({kSize}, {1, 2, 3, 4})}).ok());
    EXPECT_EQ(gpu.counts().copies, 2);
  }
}

}  // namespace
}  // namespace tandem
