#include "support/buffer_backend.h"
#include "support/gpu_workshop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace tandem {
namespace {

using testing::BufferBackend;
using testing::GpuWorkshop;
using testing::SimulatedGpu;
using testing::TestMethod;

/// A delegate on the device that branches on a flag in the host's memory, as models do that fill a cache once: while
/// the flag is 0 it computes the cache and sets the flag, then it uses the cache. A counter is beside the flag.
class HostBuffersTest : public ::testing::Test, protected GpuWorkshop {
 protected:
  void add_cached(std::size_t flag_floats = 1) {
    std::vector<BufferBackend::Storage> storages{{{"flag"}, std::vector<float>(flag_floats), true},
                                                 {{"cache"}, {0}, false}};
    const auto call = [](EnqueueArgs& args, std::span<std::byte* const> memory) -> Status {
      auto* const flag = reinterpret_cast<float*>(memory[0]);
      auto* const cache = reinterpret_cast<float*>(memory[1]);
      const auto* const in = static_cast<const float*>(args.arguments[0]->tensor.data);
      auto* const out = static_cast<float*>(args.arguments[1]->tensor.data);
      args.outputs[0] = {};
      const bool is_first = *flag == 0;
      const std::function<void()> work = [=] {
        if (is_first) *cache = 10 * *in;
        for (std::int64_t i = 0; i < kSize; ++i) out[i] = *cache + in[i];
      };
      Status enqueued = args.recorder != nullptr
                            ? args.recorder->kernel({.function = const_cast<std::function<void()>*>(&work)})
                            : SimulatedGpu::launch(args.stream, work);
      *flag = 1;
      return enqueued;
    };
    EXPECT_TRUE(
        b.backends.register_backend("Cached", std::make_shared<BufferBackend>(1, std::move(storages), call, false))
            .ok());
    const auto x = gpu_tensor();
    const auto y = gpu_tensor();
    b.inputs({x}).outputs({y}).delegate("Cached", {x, y});
  }

  float run(const TestMethod& method, float x, const std::shared_ptr<State>& state = nullptr) {
    write(in_, x);
    ExecuteOptions options;
    options.outputs = {&out_, 1};
    options.state = state;
    const auto ran = method.execute({in_}, options);
    EXPECT_TRUE(ran.ok()) << ran.error().to_string();
    EXPECT_TRUE(gpu.thread_stream().synchronize().ok());
    return first_of(out_);
  }
  float flag(const TestMethod& method) {
    return *reinterpret_cast<const float*>(method.state()->impl()->memory_of(0)[0]->data());
  }

  Tensor in_ = on_gpu(0);
  Tensor out_ = on_gpu(0);
};

TEST_F(HostBuffersTest, BothBranchesAndResetsAreAsStepByStep) {
  add_cached();
  const auto steps = load(GraphPolicy::Off);
  for (const GraphPolicy policy : {GraphPolicy::On, GraphPolicy::Branches, GraphPolicy::Auto}) {
    ASSERT_TRUE(steps->state()->reset().ok());
    const auto graphs = load(policy);
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 5; ++i) {
        const float x = static_cast<float>(10 * round + i);
        EXPECT_EQ(run(*graphs, x), run(*steps, x)) << "round " << round << ", call " << i;
        EXPECT_EQ(flag(*graphs), flag(*steps));
      }
      ASSERT_TRUE(graphs->state()->reset().ok());
      ASSERT_TRUE(steps->state()->reset().ok());
    }
    if (policy == GraphPolicy::On) {
      EXPECT_EQ(graphs->graphs().at(0).graphs, 2U) << "one for each value of the flag";
    }
  }
}

TEST_F(HostBuffersTest, AnEvictedGraphIsMadeAnew) {
  add_cached();
  MethodOptions options;
  options.graphs = GraphPolicy::On;
  options.max_graphs = 1;
  const auto graphs = load(options);
  const auto steps = load(GraphPolicy::Off);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(run(*graphs, static_cast<float>(round + i)), run(*steps, static_cast<float>(round + i)));
    ASSERT_TRUE(graphs->state()->reset().ok());
    ASSERT_TRUE(steps->state()->reset().ok());
  }
}

TEST_F(HostBuffersTest, PrepareChangesNothing) {
  add_cached();
  const auto graphs = load(GraphPolicy::On);
  write(in_, 3);
  ExecuteOptions options;
  options.outputs = {&out_, 1};
  ASSERT_TRUE(graphs->prepare({in_}, options).ok());
  EXPECT_EQ(flag(*graphs), 0);
  EXPECT_EQ(run(*graphs, 3), 33) << "the first branch";
  EXPECT_EQ(flag(*graphs), 1) << "a replay applies what the recorded run left";
  EXPECT_EQ(run(*graphs, 4), 34);
}

TEST_F(HostBuffersTest, StatesHaveFlagsOfTheirOwn) {
  add_cached();
  const auto graphs = load(GraphPolicy::On);
  const auto other = graphs->new_state();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(*graphs, 1), 11);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(*graphs, 2, other), 22);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(*graphs, 5), 15);
}

TEST_F(HostBuffersTest, CapturesOfTheCallersAreRefused) {
  add_cached();
  const auto method = load(GraphPolicy::On);
  ExecuteOptions options;
  options.outputs = {&out_, 1};
  options.state = method->new_state();
  const auto stream = *gpu.make_stream();
  options.stream = StreamRef{*stream};
  SimulatedGpu::begin_capture(StreamRef{*stream});
  const auto captured = method->execute({in_}, options);
  ASSERT_FALSE(captured.ok());
  EXPECT_EQ(captured.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(captured.error().to_string(), ::testing::HasSubstr("host's memory"));
  EXPECT_TRUE(SimulatedGpu::end_capture(StreamRef{*stream})->nodes.empty());
}

TEST_F(HostBuffersTest, LargeBuffersOfTheHostKeepADelegateOutOfGraphs) {
  add_cached(2000);
  const auto method = load(GraphPolicy::On);
  EXPECT_TRUE(method->graphs().empty());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(*method, 1), 11);
}

}  // namespace
}  // namespace tandem
