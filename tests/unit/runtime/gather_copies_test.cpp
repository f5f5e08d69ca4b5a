// Copies between host and device at the ends of what the device does in a row. The device is simulated.
#include "runtime/lower/lower.h"
#include "support/gpu_workshop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tandem {
namespace {

using runtime::Step;
using testing::floats;
using testing::GpuWorkshop;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = GpuWorkshop::kSize;

class Workshop : public GpuWorkshop {
 public:
  Workshop() { add_sum_and_bump(); }
  void up(std::int32_t from, std::int32_t to) { b.kernel("et_copy::_h2d_copy.out", {from, to, to}); }
  void down(std::int32_t from, std::int32_t to) { b.kernel("et_copy::_d2h_copy.out", {from, to, to}); }
  /// "H" up, "D" delegate, "d" down, "K" the host.
  static std::string order_of(const runtime::Schedule& schedule) {
    std::string order;
    for (const Step& step : schedule.steps) {
      if (step.kind == Step::Kind::Copy) {
        order += schedule.values[schedule.args_of(step)[1]].device == kGpu ? 'H' : 'd';
      } else if (step.kind == Step::Kind::Delegate) {
        order += 'D';
      } else if (step.kind == Step::Kind::Kernel) {
        order += 'K';
      }
    }
    return order;
  }
};

class GatherCopiesTest : public ::testing::Test, public Workshop {};

/// x and y come, p and q go, each where a delegate needs it or made it.
TEST_F(GatherCopiesTest, SeveralInputsAndOutputsAreOneGraph) {
  const auto x = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  const auto p = b.tensor({kSize});
  const auto q = b.tensor({kSize});
  // As an exporter plans them: what is over gives its place to what comes.
  const auto x1 = gpu_tensor(0);
  const auto p1 = gpu_tensor(64);
  const auto y1 = gpu_tensor(0);
  const auto q1 = gpu_tensor(128);
  b.inputs({x, y}).outputs({p, q});
  up(x, x1);
  b.delegate("Sum", {x1, p1});
  down(p1, p);
  up(y, y1);
  b.delegate("Sum", {y1, p1, q1});
  down(q1, q);
  const auto method = load(GraphPolicy::On);
  EXPECT_EQ(order_of(method->schedule()), "HHDDdd");
  EXPECT_EQ(method->schedule().regions.size(), 1U);
  for (int i = 0; i < 5; ++i) {
    const auto number = static_cast<float>(i);
    const auto outputs = method->execute(
        {floats({kSize}, std::vector<float>(kSize, number)), floats({kSize}, std::vector<float>(kSize, 2 * number))});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    const float p_is = 0.5F + number;
    EXPECT_EQ(to_floats(outputs->at(0)).front(), p_is);
    EXPECT_EQ(to_floats(outputs->at(1)).front(), 0.5F * (0.5F + 2 * number) + p_is);
  }
  EXPECT_EQ(method->graphs().front().nodes, 2U);
}

TEST_F(GatherCopiesTest, NothingCrossesAStepOfTheHost) {
  const auto x = b.tensor({kSize});
  const auto h = b.tensor({kSize});
  const auto x1 = gpu_tensor();
  const auto a = gpu_tensor();
  const auto a1 = b.tensor({kSize});
  const auto h1 = gpu_tensor();
  const auto q = gpu_tensor();
  const auto out = b.tensor({kSize});
  b.inputs({x}).outputs({out});
  up(x, x1);
  b.delegate("Sum", {x1, a});
  down(a, a1);
  b.kernel("aten::add.out", {a1, a1, b.number(1), h, h});
  up(h, h1);
  b.delegate("Sum", {h1, q});
  down(q, out);
  EXPECT_EQ(order_of(load(GraphPolicy::On)->schedule()), "HDdKHDd");
}

TEST_F(GatherCopiesTest, WhatChangesLaterStaysWhereItIs) {
  const auto x = b.tensor({kSize});
  const auto x1 = gpu_tensor();
  const auto a = gpu_tensor();
  const auto c = gpu_tensor();
  const auto before = b.tensor({kSize});
  const auto after = b.tensor({kSize});
  b.inputs({x}).outputs({before, after});
  up(x, x1);
  b.delegate("Sum", {x1, a});
  down(a, before);
  b.delegate("Bump", {a, c});
  down(a, after);
  EXPECT_EQ(order_of(load(GraphPolicy::On)->schedule()), "HDdDd");
}

TEST_F(GatherCopiesTest, WhatGoesOutAndComesInAgainStaysWhereItIs) {
  const auto x = b.tensor({kSize});
  const auto x1 = gpu_tensor();
  const auto a = gpu_tensor();
  const auto h = b.tensor({kSize});
  const auto h1 = gpu_tensor();
  const auto q = gpu_tensor();
  const auto out = b.tensor({kSize});
  b.inputs({x}).outputs({out});
  up(x, x1);
  b.delegate("Sum", {x1, a});
  down(a, h);
  up(h, h1);
  b.delegate("Sum", {h1, q});
  down(q, out);
  EXPECT_EQ(order_of(load(GraphPolicy::On)->schedule()), "HDdHDd");
}

TEST_F(GatherCopiesTest, MethodsWithJumpsAreLeftAlone) {
  const auto x = b.tensor({kSize});
  const auto x1 = gpu_tensor();
  const auto a = gpu_tensor();
  const auto y1 = gpu_tensor();
  const auto q = gpu_tensor();
  const auto out = b.tensor({kSize});
  b.inputs({x}).outputs({out});
  up(x, x1);
  b.delegate("Sum", {x1, a});
  up(x, y1);
  b.delegate("Sum", {a, y1, q});
  down(q, out);
  b.jump_if_false(b.flag(true), 0);
  EXPECT_EQ(order_of(load(GraphPolicy::On)->schedule()), "HDHDd");
}

/// Programs with copies anywhere give what they give step by step as they stand: on the host device, where nothing is
/// moved.
TEST(MadeUpCopiesTest, GiveTheSameWhereverTheyAreMoved) {
  std::size_t moved = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<std::vector<float>> results;
    for (const bool is_gathered : {false, true}) {
      Workshop shop;
      std::mt19937 random{seed};
      const auto below = [&random](std::size_t end) { return random() % end; };
      std::vector<std::int32_t> host{shop.b.tensor({kSize}), shop.b.tensor({kSize})};
      shop.b.inputs(host);
      std::vector<std::int32_t> device{shop.gpu_tensor()};
      shop.up(host[0], device[0]);
      for (std::size_t i = 0; i < 12; ++i) {
        const auto any = [&] { return device[below(device.size())]; };
        switch (below(5)) {
          case 0:
            device.push_back(shop.gpu_tensor());
            shop.up(host[below(host.size())], device.back());
            break;
          case 1: {
            host.push_back(shop.b.tensor({kSize}));
            shop.down(any(), host.back());
            break;
          }
          case 2: {
            const auto from = any();
            device.push_back(shop.gpu_tensor());
            shop.b.delegate("Bump", {from, device.back()});
            break;
          }
          default: {
            const auto a = any();
            const auto c = any();
            device.push_back(shop.gpu_tensor());
            shop.b.delegate("Sum", {a, c, device.back()});
          }
        }
      }
      std::vector<std::int32_t> outputs(host.begin() + 2, host.end());
      outputs.push_back(shop.b.tensor({kSize}));
      shop.down(device.back(), outputs.back());
      shop.b.outputs(outputs);
      if (!is_gathered) shop.b.jump_if_false(shop.b.flag(true), 0);  // nothing is moved then
      const auto method = shop.load(GraphPolicy::On);
      if (!method->loaded().ok()) break;
      moved += is_gathered && method->schedule().regions.size() == 1 ? 1 : 0;
      for (std::size_t run = 0; run < 4; ++run) {
        const auto number = static_cast<float>(run);
        shop.gpu.reseed(seed + run);
        const auto found = method->execute({floats({kSize}, {number, 1, 2, 3}), floats({kSize}, {3, number, 1, 0})});
        ASSERT_TRUE(found.ok()) << found.error().to_string();
        std::vector<float> all;
        for (const Value& value : *found) {
          const auto some = to_floats(value);
          all.insert(all.end(), some.begin(), some.end());
        }
        if (!is_gathered) {
          results.push_back(all);
        } else {
          ASSERT_EQ(all, results[run]) << "run " << run;
        }
      }
    }
  }
  EXPECT_GT(moved, 50U);
}

}  // namespace
}  // namespace tandem
