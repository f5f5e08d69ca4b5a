// What of a method may run side by side in a graph. The device is simulated: it runs a graph's parts in another order
// that the edges allow at each launch.
#include "runtime/execute/trial.h"
#include "runtime/lower/lower.h"
#include "runtime/order/arena_use.h"
#include "support/gpu_workshop.h"

#include <tandem/stream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using testing::floats;
using testing::GpuWorkshop;
using ::testing::HasSubstr;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = GpuWorkshop::kSize;

class Workshop : public GpuWorkshop {
 public:
  Workshop() { add_sum_and_bump(); }
  std::int32_t tensor() { return b.tensor({kSize}); }
  /// `from`, through `count` delegates.
  std::int32_t chain(std::int32_t from, int count) {
    for (int i = 0; i < count; ++i) {
      const auto to = tensor();
      b.delegate("Sum", {from, to});
      from = to;
    }
    return from;
  }
  /// One input, `width` chains of `length`, one sum of all.
  void fan(int width, int length) {
    const auto x = tensor();
    b.inputs({x});
    std::vector<std::int32_t> ends;
    for (int i = 0; i < width; ++i) ends.push_back(chain(x, length));
    ends.push_back(tensor());
    b.outputs({ends.back()});
    b.delegate("Sum", ends);
  }
  static std::vector<std::vector<float>> run(const TestMethod& method, float number) {
    const auto outputs = method.execute({floats({kSize}, std::vector<float>(kSize, number))});
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    std::vector<std::vector<float>> results;
    if (!outputs.ok()) return results;
    for (const Value& output : *outputs) results.push_back(to_floats(output));
    return results;
  }
  void expect_the_same_results(int runs) {
    const auto steps = load(GraphPolicy::Off);
    const auto branches = load(GraphPolicy::Branches);
    for (int i = 0; i < runs; ++i) {
      const auto number = static_cast<float>(i);
      ASSERT_EQ(run(*branches, number), run(*steps, number)) << "run " << i;
    }
    EXPECT_TRUE(branches->graphs().front().in_use) << branches->graphs().front().refusal;
  }
};

class BranchesTest : public ::testing::Test, public Workshop {
 protected:
  int asked = 0;
};

/// Delegates that read any of the values so far and write new ones, some of them in place, some called twice.
void make_up(Workshop& shop, std::uint32_t seed) {
  std::mt19937 random{seed};
  const auto below = [&random](std::size_t end) { return random() % end; };
  std::vector<std::int32_t> values{shop.tensor(), shop.b.state({kSize}, 0, {1, 2, 3, 4})};
  shop.b.inputs({values[0]});
  const auto any = [&] { return values[below(values.size())]; };
  std::uint32_t delegates = 0;
  std::vector<std::uint32_t> of_one_input;
  for (std::size_t i = 0; i < 12 + below(12); ++i) {
    const auto to = shop.tensor();
    if (below(4) == 0) {
      shop.b.delegate("Bump", {any(), to});
    } else if (below(4) == 0 && !of_one_input.empty()) {
      shop.b.call(of_one_input[below(of_one_input.size())], {any(), to});
      --delegates;
    } else {
      std::vector<std::int32_t> args;
      for (std::size_t k = 0; k <= below(3); ++k) args.push_back(any());
      if (args.size() == 1) of_one_input.push_back(delegates);
      args.push_back(to);
      shop.b.delegate("Sum", args);
    }
    ++delegates;
    values.push_back(to);
  }
  shop.b.outputs({values[values.size() - 1], values[values.size() - 2], values[values.size() / 2 + 1]});
}

TEST_F(BranchesTest, AFanRunsSideBySide) {
  fan(4, 3);
  const auto method = load(GraphPolicy::Branches);
  const runtime::BranchPlan& plan = method->schedule().branches;
  ASSERT_TRUE(plan.any());
  EXPECT_EQ(method->schedule().regions.front().branches, 4U);
  std::uint32_t join = 0;  // the last step that is a delegate
  for (std::uint32_t i = 0; i < method->schedule().steps.size(); ++i) {
    if (method->schedule().steps[i].kind == runtime::Step::Kind::Delegate) join = i;
  }
  EXPECT_EQ(plan.after_of(join).size(), 4U);
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(plan.after_of(join - 12 + i).size(), i % 3 == 0 ? 0U : 1U) << i;
    EXPECT_TRUE(plan.before(join - 12 + i, join));
    EXPECT_EQ(plan.before(join - 12, join - 12 + i), i > 0 && i < 3) << i;
  }
  expect_the_same_results(20);
  for (int i = 0; i < 3; ++i) run(*method, 1);
  EXPECT_EQ(method->graphs().front().branches, 4U);
  EXPECT_EQ(method->graphs().front().nodes, 13U);
}

TEST_F(BranchesTest, OneAfterTheOtherHasNone) {
  const auto x = tensor();
  b.inputs({x}).outputs({chain(x, 5)});
  EXPECT_FALSE(load(GraphPolicy::Branches)->schedule().branches.any());
  expect_the_same_results(5);
}

TEST_F(BranchesTest, OnlyThosePoliciesThatMayUseThemPlanThem) {
  fan(3, 2);
  EXPECT_FALSE(load(GraphPolicy::Off)->schedule().branches.any());
  EXPECT_FALSE(load(GraphPolicy::On)->schedule().branches.any());
  EXPECT_TRUE(load(GraphPolicy::Auto)->schedule().branches.any());
}

TEST_F(BranchesTest, JumpsAllowNone) {
  fan(3, 2);
  b.jump_if_false(b.flag(true), 0);
  EXPECT_FALSE(load(GraphPolicy::Branches)->schedule().branches.any());
}

TEST_F(BranchesTest, MoreThanThereMayBeShareBranches) {
  fan(20, 2);
  const auto method = load(GraphPolicy::Branches);
  EXPECT_EQ(method->schedule().regions.front().branches, runtime::BranchPlan::kMax);
  expect_the_same_results(20);
}

TEST_F(BranchesTest, ValuesOfBranchesShareNoBytesButThoseInARowDo) {
  fan(2, 6);
  const auto bytes = [this](GraphPolicy graphs) {
    const auto method = load(graphs);
    std::uint64_t sum = 0;
    for (const runtime::BufferPlan& buffer : method->schedule().buffers) {
      if (buffer.kind == runtime::BufferPlan::Kind::Arena && buffer.device == kGpu) sum += buffer.bytes;
    }
    return sum;
  };
  EXPECT_GT(bytes(GraphPolicy::Branches), bytes(GraphPolicy::On));
  EXPECT_LE(bytes(GraphPolicy::Branches), 2 * bytes(GraphPolicy::On)) << "within a branch bytes are used again";
}

/// Whatever a program reads and writes, in place too, a graph's parts may run in any order that its edges allow.
TEST(MadeUpBranchesTest, GiveTheSameBitsAsStepByStep) {
  int with_branches = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Workshop shop;
    make_up(shop, seed);
    shop.expect_the_same_results(8);
    with_branches += shop.load(GraphPolicy::Branches)->schedule().branches.any() ? 1 : 0;
  }
  EXPECT_GT(with_branches, 60);
}

TEST(MadeUpBranchesTest, ValuesInUseAtTheSameTimeShareNoBytes) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Workshop shop;
    make_up(shop, seed);
    const auto method = shop.load(GraphPolicy::Branches);
    const runtime::Schedule& schedule = method->schedule();
    const auto lifetimes = runtime::find_lifetimes(schedule);
    for (const runtime::ArenaUse& arena : runtime::find_arena_use(schedule)) {
      for (const auto& a : arena.values) {
        for (const auto& b : arena.values) {
          if (a.value >= b.value || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
          EXPECT_TRUE(before(schedule.branches, lifetimes[a.value], lifetimes[b.value]) ||
                      before(schedule.branches, lifetimes[b.value], lifetimes[a.value]))
              << "values " << a.value << " and " << b.value;
        }
      }
    }
  }
}

TEST_F(BranchesTest, AGraphThatLacksAnEdgeIsRefusedAndNamesBothSteps) {
  fan(3, 2);
  const auto method = load(GraphPolicy::Branches);
  gpu.lose_edge(2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(*method, 1).front(), run(*load(GraphPolicy::Off), 1).front());
  const GraphInfo graph = method->graphs().front();
  EXPECT_EQ(graph.nodes, 0U);
  EXPECT_THAT(graph.refusal, HasSubstr("the graph lacks an edge"));
  EXPECT_THAT(graph.refusal, HasSubstr("instruction 4 (delegate 4, Sum) before instruction 5 (delegate 5, Sum)"));
}

TEST_F(BranchesTest, AutoTriesThreeWays) {
  fan(3, 2);
  const auto method = load(GraphPolicy::Auto);
  const int trial = 2 + 3 * static_cast<int>(runtime::Trial::kSamples);
  for (int i = 0; i < trial; ++i) EXPECT_EQ(run(*method, 1).front(), run(*load(GraphPolicy::Off), 1).front());
  EXPECT_EQ(gpu.counts().graphs, 2);
  EXPECT_GT(method->graphs().front().branches_time.count(), 0);
}

/// Nobody waits for such runs: what counts is what the device takes, if that is longer than the call.
TEST_F(BranchesTest, AutoTimesAsynchronousRunsOnTheDevice) {
  using namespace std::chrono_literals;
  for (const bool is_side_by_side_faster : {true, false}) {
    Workshop shop;
    shop.fan(3, 2);
    int launched = 0;
    shop.gpu.tell_times([&] {
      const int graphs = shop.gpu.counts().graph_launches - std::exchange(launched, shop.gpu.counts().graph_launches);
      ++asked;
      if (graphs == 0) return std::chrono::nanoseconds{3s};
      // The run that made the graphs was the first of three, and not timed.
      return std::chrono::nanoseconds{(asked % 3 == 1) == is_side_by_side_faster ? 1s : 2s};
    });
    asked = 0;
    const auto method = shop.load(GraphPolicy::Auto);
    const Stream stream{*shop.gpu.make_stream()};
    ExecuteOptions options;
    options.stream = stream.ref();
    for (int i = 0; i < 60; ++i) {
      const auto execution = method->execute_async({floats({kSize}, {1, 2, 3, 4})}, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      ASSERT_TRUE(execution->get().ok());
    }
    const GraphInfo graph = method->graphs().front();
    EXPECT_EQ(graph.steps_time, 3s);
    EXPECT_EQ(graph.graph_time, is_side_by_side_faster ? 2s : 1s);
    EXPECT_EQ(graph.branches_time, is_side_by_side_faster ? 1s : 2s);
    EXPECT_EQ(graph.branches, is_side_by_side_faster ? 3U : 1U);
    EXPECT_TRUE(graph.in_use);
  }
}

}  // namespace
}  // namespace tandem
