// Stretches of a method that run as one graph. The device is simulated.
#include "runtime/execute/trial.h"
#include "runtime/lower/lower.h"
#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using runtime::Trial;
using testing::add_on_gpu;
using testing::floats;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = 4;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

std::vector<float> all_of(float number) { return std::vector<float>(kSize, number); }
Value all(float number) { return floats({kSize}, all_of(number)); }

class GraphRunTest : public ::testing::Test {
 protected:
  GraphRunTest() {
    auto backend = std::make_shared<KernelBackend>(gpu, 1, add_on_gpu(1));
    plus1 = backend.get();
    EXPECT_TRUE(b.backends.register_backend("Plus1", std::move(backend)).ok());
  }
  std::int32_t gpu_tensor() {
    const std::int32_t value = b.tensor({kSize}, MethodBuilder::kUnplanned, false, ScalarType::Float, 1);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  /// x + count in as many delegates, from host to host.
  void chain(int count) {
    auto last = b.tensor({kSize});
    b.inputs({last});
    for (int i = 0; i < count; ++i) {
      const auto next = b.tensor({kSize});
      b.delegate("Plus1", {last, next});
      last = next;
    }
    b.outputs({last});
  }
  std::unique_ptr<TestMethod> load(GraphPolicy graphs = GraphPolicy::On, MethodOptions options = {}) {
    options.device = kGpu;
    options.graphs = graphs;
    auto method = std::make_unique<TestMethod>(b, gpu, options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  static std::vector<float> result(const Result<std::vector<Value>>& outputs) {
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? to_floats(outputs->front()) : std::vector<float>{};
  }
  Tensor on_gpu(float number) {
    auto memory = std::make_shared<device::Buffer>(*gpu.allocate(kSize * sizeof(float)));
    std::fill_n(reinterpret_cast<float*>(memory->data()), kSize, number);
    return *Tensor::from_blob(
        memory->data(), ScalarType::Float, std::array{kSize}, {}, [memory] {}, kGpu);
  }

  SimulatedGpu gpu{1};
  MethodBuilder b;
  KernelBackend* plus1 = nullptr;
};

TEST_F(GraphRunTest, DelegatesInARowBecomeOneLaunch) {
  chain(5);
  const auto method = load();
  for (int i = 0; i < 10; ++i) {
    gpu.reset_counts();
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 5));
    EXPECT_EQ(gpu.counts().launches, i < 2 ? 5 : 0) << "run " << i;
    EXPECT_EQ(gpu.counts().graph_launches, i < 2 ? 0 : 1) << "run " << i;
    EXPECT_EQ(gpu.counts().copies, 2);
    EXPECT_EQ(gpu.counts().synchronizes, 0);
  }
  const std::vector<GraphInfo> graphs = method->graphs();
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_EQ(graphs[0].first_instruction, 0U);
  EXPECT_EQ(graphs[0].last_instruction, 4U);
  EXPECT_EQ(graphs[0].nodes, 5U);
  EXPECT_EQ(graphs[0].graphs, 1U);
  EXPECT_TRUE(graphs[0].in_use);
}

TEST_F(GraphRunTest, PreparedExecutionsAreGraphsFromTheFirstOn) {
  chain(3);
  MethodOptions two;
  two.instances = 2;
  const auto method = load(GraphPolicy::On, two);
  const Status prepared = method->prepare({all(0)});
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  EXPECT_EQ(gpu.counts().graphs, 2) << "one for each instance";
  EXPECT_EQ(gpu.counts().launches + gpu.counts().graph_launches + gpu.counts().copies, 0) << "nothing runs";
  ASSERT_TRUE(method->prepare({all(5)}).ok());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 3));
  EXPECT_EQ(gpu.counts().graph_launches, 4);
  EXPECT_EQ(gpu.counts().launches, 0);
  EXPECT_EQ(gpu.counts().graphs, 2);
}

TEST_F(GraphRunTest, WhatCannotBePreparedSaysSoAndRuns) {
  chain(2);
  const auto off = load(GraphPolicy::Off);
  EXPECT_TRUE(off->prepare({all(0)}).ok()) << "nothing to do";
  const auto method = load();
  EXPECT_EQ(method->prepare({}).error().code(), ErrorCode::InvalidArgument);
  plus1->refuse_to_record();
  const Status refused = method->prepare({all(0)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(refused.error().site().delegate, 0);
  EXPECT_EQ(gpu.counts().graphs, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(result(method->execute({all(1)})), all_of(3));
}

TEST_F(GraphRunTest, WithoutGraphsThereAreNone) {
  chain(3);
  MethodOptions none;
  none.max_graphs = 0;
  for (const auto& method : {load(GraphPolicy::Off), load(GraphPolicy::On, none)}) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(result(method->execute({all(1)})), all_of(4));
    EXPECT_TRUE(method->graphs().empty());
  }
  EXPECT_EQ(gpu.counts().graphs, 0);
}

TEST_F(GraphRunTest, AHostStepDividesTheGraph) {
  const auto x = b.tensor({kSize});
  const auto d1 = b.tensor({kSize});
  const auto d2 = b.tensor({kSize});
  const auto h = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  b.delegate("Plus1", {x, d1}).delegate("Plus1", {d1, d2});
  b.kernel("aten::add.out", {d2, d2, b.number(1), h, h});
  b.delegate("Plus1", {h, y});
  const auto method = load();
  ASSERT_EQ(method->schedule().regions.size(), 2U);
  for (int i = 0; i < 6; ++i) {
    gpu.reset_counts();
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(2 * (static_cast<float>(i) + 2) + 1));
    EXPECT_EQ(gpu.counts().graph_launches, i < 2 ? 0 : 2);
  }
}

TEST_F(GraphRunTest, SeveralStreamsHaveNoGraphs) {
  chain(3);
  MethodOptions options;
  options.streams = StreamPolicy::PerDelegate;
  options.allow_races = true;
  EXPECT_TRUE(load(GraphPolicy::On, options)->schedule().regions.empty());
}

TEST_F(GraphRunTest, AddressesThatComeBackGetAGraphEach) {
  const auto x = gpu_tensor();
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  MethodOptions two;
  two.max_graphs = 2;
  const auto method = load(GraphPolicy::On, two);
  const std::vector<Tensor> inputs{on_gpu(1), on_gpu(2), on_gpu(3)};
  const std::vector<Tensor> targets{on_gpu(0), on_gpu(0), on_gpu(0)};
  const auto run = [&](std::size_t which) {
    std::fill_n(const_cast<float*>(static_cast<const float*>(targets[which].data())), kSize, -1.0F);
    ExecuteOptions options;
    options.outputs = {&targets[which], 1};
    const auto outputs = method->execute({Value{inputs[which]}}, options);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    ASSERT_TRUE(gpu.thread_stream().synchronize().ok());
    EXPECT_EQ(*static_cast<const float*>(targets[which].data()), static_cast<float>(which) + 2);
  };
  for (int i = 0; i < 4; ++i) {
    run(0);
    run(1);
  }
  EXPECT_EQ(gpu.counts().graphs, 2);
  EXPECT_EQ(gpu.counts().graph_launches, 4);
  EXPECT_EQ(method->graphs().front().graphs, 2U);
  // A third set of addresses takes the place of the one that was used longest ago, which starts anew.
  for (int i = 0; i < 4; ++i) run(2);
  run(1);
  EXPECT_EQ(gpu.counts().graphs, 3);
  EXPECT_EQ(gpu.counts().graph_launches, 7);
  run(0);
  EXPECT_EQ(gpu.counts().graph_launches, 7);
}

TEST_F(GraphRunTest, WhatCannotBeRecordedRunsStepByStep) {
  chain(2);
  plus1->refuse_to_record();
  const auto method = load();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 2));
  EXPECT_EQ(gpu.counts().graphs, 0);
  EXPECT_EQ(gpu.counts().launches, 12);
  const std::vector<GraphInfo> graphs = method->graphs();
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_NE(graphs[0].refusal.find("it does not want to be recorded"), std::string::npos) << graphs[0].refusal;
  EXPECT_NE(graphs[0].refusal.find("instruction 0"), std::string::npos) << graphs[0].refusal;
  EXPECT_FALSE(graphs[0].in_use);
}

TEST_F(GraphRunTest, WhatCannotBeRecordedIsCaptured) {
  auto other = std::make_shared<KernelBackend>(gpu, 1, add_on_gpu(10));
  other->allow_capture();
  other->refuse_to_record();
  ASSERT_TRUE(b.backends.register_backend("Plus10", other).ok());
  auto last = b.tensor({kSize});
  b.inputs({last});
  for (const char* id : {"Plus1", "Plus10", "Plus1", "Plus10", "Plus1"}) {
    const auto next = b.tensor({kSize});
    b.delegate(id, {last, next});
    last = next;
  }
  b.outputs({last});
  const auto method = load();
  for (int i = 0; i < 6; ++i) {
    gpu.reset_counts();
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 23));
    EXPECT_EQ(gpu.counts().launches, i < 2 ? 5 : 0);
    EXPECT_EQ(gpu.counts().graph_launches, i < 2 ? 0 : 1);
  }
  EXPECT_EQ(method->graphs().front().nodes, 5U) << "nothing twice";
}

TEST_F(GraphRunTest, ACaptureThatFailsLeavesStepByStep) {
  auto other = std::make_shared<KernelBackend>(gpu, 1, add_on_gpu(10));
  other->allow_capture();
  other->refuse_to_record();
  other->refuse_to_be_captured();
  ASSERT_TRUE(b.backends.register_backend("Plus10", other).ok());
  const auto x = b.tensor({kSize});
  const auto h = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, h}).delegate("Plus10", {h, y});
  const auto method = load();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 11));
  }
  const GraphInfo info = method->graphs().front();
  EXPECT_NE(info.refusal.find("it does not want to be captured"), std::string::npos) << info.refusal;
  EXPECT_NE(info.refusal.find("delegate 1"), std::string::npos) << info.refusal;
  EXPECT_EQ(gpu.counts().graphs, 0);
}

TEST_F(GraphRunTest, EveryStateHasItsOwn) {
  auto count = std::make_shared<KernelBackend>(
      gpu, 1,
      [](const std::vector<TensorArg>& arguments) {
        for (std::int64_t i = 0; i < kSize; ++i) {
          auto& total = static_cast<float*>(arguments[1].data)[i];
          total += static_cast<const float*>(arguments[0].data)[i];
          static_cast<float*>(arguments[2].data)[i] = total;
        }
      },
      std::vector<AccessMode>{AccessMode::Read, AccessMode::Update, AccessMode::Write});
  ASSERT_TRUE(b.backends.register_backend("Count", count).ok());
  const auto x = b.tensor({kSize});
  const auto total = b.state({kSize}, 0, std::vector<float>(kSize, 100));
  const auto between = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Count", {x, total, between}).delegate("Plus1", {between, y});
  const auto method = load();
  ExecuteOptions own;
  ExecuteOptions other;
  other.state = method->new_state();
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(result(method->execute({all(1)}, own)), all_of(static_cast<float>(101 + i)));
    EXPECT_EQ(result(method->execute({all(2)}, other)), all_of(static_cast<float>(101 + 2 * i)));
  }
  EXPECT_EQ(gpu.counts().graphs, 2);
  ASSERT_TRUE(other.state->reset().ok());
  EXPECT_EQ(result(method->execute({all(2)}, other)), all_of(103));
  EXPECT_EQ(result(method->execute({all(1)}, own)), all_of(108));
}

TEST_F(GraphRunTest, AutoLetsBothWaysRunAndStaysWithOne) {
  chain(4);
  const auto method = load(GraphPolicy::Auto);
  const int trial = 2 + 2 * static_cast<int>(Trial::kSamples);
  for (int i = 0; i < trial; ++i)
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 4));
  EXPECT_EQ(gpu.counts().graph_launches, static_cast<int>(Trial::kSamples));
  const GraphInfo info = method->graphs().front();
  EXPECT_GT(info.steps_time.count(), 0);
  EXPECT_GT(info.graph_time.count(), 0);
  gpu.reset_counts();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(result(method->execute({all(1)})), all_of(5));
  EXPECT_EQ(gpu.counts().graph_launches, info.in_use ? 10 : 0);
  EXPECT_EQ(info.in_use, info.graph_time <= info.steps_time);
}

TEST_F(GraphRunTest, OrderedWithOtherStreamsUnderEverySeed) {
  chain(3);
  const auto method = load();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(result(method->execute({all(0)})), all_of(3));
  const Stream first{*gpu.make_stream()};
  const Stream second{*gpu.make_stream()};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    gpu.reseed(seed);
    std::vector<Execution> executions;
    for (int i = 0; i < 4; ++i) {
      ExecuteOptions options;
      options.stream = (i % 2 == 0 ? first : second).ref();
      auto execution = method->execute_async({all(static_cast<float>(i))}, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(result(executions[static_cast<std::size_t>(i)].get()), all_of(static_cast<float>(i) + 3))
          << "seed " << seed;
    }
  }
  EXPECT_EQ(gpu.counts().graphs, 1);
}

TEST_F(GraphRunTest, AnAsynchronousMethodsTrialIsOfItsEnqueueing) {
  chain(3);
  const auto method = load(GraphPolicy::Auto);
  const Stream stream{*gpu.make_stream()};
  ExecuteOptions options;
  options.stream = stream.ref();
  for (int i = 0; i < 2 + 2 * static_cast<int>(Trial::kSamples); ++i) {
    const auto execution = method->execute_async({all(1)}, options);
    ASSERT_TRUE(execution.ok());
    EXPECT_EQ(result(execution->get()), all_of(4));
  }
  EXPECT_GT(method->graphs().front().graph_time.count(), 0);
}

TEST(TrialTest, TheLowerMedianWins) {
  using namespace std::chrono_literals;
  for (const bool graph_wins : {true, false}) {
    Trial trial{false};
    for (std::size_t i = 0; i < Trial::kSamples; ++i) {
      EXPECT_EQ(trial.verdict(), Trial::Verdict::Open);
      // One run in four is very slow.
      trial.add(Trial::Way::Graph, Trial::Span::WholeRun, i % 4 == 0 ? 1000us : graph_wins ? 10us : 12us);
      trial.add(Trial::Way::Steps, Trial::Span::WholeRun, i % 4 == 1 ? 1000us : 11us);
    }
    EXPECT_EQ(trial.verdict(), graph_wins ? Trial::Verdict::Graph : Trial::Verdict::Steps);
    EXPECT_EQ(trial.median(Trial::Way::Steps), 11us);
    trial.add(Trial::Way::Graph, Trial::Span::WholeRun, 1us);
    EXPECT_EQ(trial.median(Trial::Way::Graph), graph_wins ? 10us : 12us);
  }
}

TEST(TrialTest, BranchesWinByAMarginOnly) {
  using namespace std::chrono_literals;
  for (const auto& [span, branches, winner] : {std::tuple{Trial::Span::WholeRun, 90us, Trial::Verdict::Branches},
                                               std::tuple{Trial::Span::WholeRun, 98us, Trial::Verdict::Graph},
                                               std::tuple{Trial::Span::Enqueueing, 90us, Trial::Verdict::Graph}}) {
    Trial trial{true};
    EXPECT_EQ(trial.next(), Trial::Way::Graph);
    EXPECT_EQ(trial.next(), Trial::Way::Branches);
    EXPECT_EQ(trial.next(), Trial::Way::Steps);
    for (std::size_t i = 0; i < Trial::kSamples; ++i) {
      EXPECT_EQ(trial.verdict(), Trial::Verdict::Open);
      trial.add(Trial::Way::Branches, span, branches);
      trial.add(Trial::Way::Steps, span, 120us);
      trial.add(Trial::Way::Graph, span, 100us);
    }
    EXPECT_EQ(trial.verdict(), winner);
    EXPECT_EQ(trial.median(Trial::Way::Branches), branches);
  }
}

TEST(TrialTest, TurnsAlternateAndSpansDoNotMix) {
  using namespace std::chrono_literals;
  Trial trial{false};
  EXPECT_EQ(trial.next(), Trial::Way::Graph);
  EXPECT_EQ(trial.next(), Trial::Way::Steps);
  EXPECT_EQ(trial.next(), Trial::Way::Graph);
  trial.add(Trial::Way::Graph, Trial::Span::WholeRun, 1us);
  for (std::size_t i = 0; i < Trial::kSamples; ++i) {
    EXPECT_EQ(trial.verdict(), Trial::Verdict::Open);
    trial.add(Trial::Way::Graph, Trial::Span::Enqueueing, 10us);
    trial.add(Trial::Way::Steps, Trial::Span::Enqueueing, 5us);
  }
  EXPECT_EQ(trial.verdict(), Trial::Verdict::Steps);
}

}  // namespace
}  // namespace tandem
