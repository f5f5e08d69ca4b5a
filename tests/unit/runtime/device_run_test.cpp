// Methods on a device: where values live, what is copied, what the host waits for. The device is simulated.
#include "runtime/order/order_check.h"
#include "support/function_backend.h"
#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using runtime::Step;
using testing::add_on_gpu;
using testing::floats;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = 4;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

Value all(float number) { return floats({kSize}, std::vector<float>(kSize, number)); }
std::vector<float> all_of(float number) { return std::vector<float>(kSize, number); }

class DeviceRunTest : public ::testing::Test {
 protected:
  DeviceRunTest() { add_backend("Plus1", 1, add_on_gpu(1)); }

  KernelBackend& add_backend(const std::string& id, std::size_t outputs, KernelBackend::Kernel kernel,
                             std::vector<AccessMode> modes = {}) {
    auto backend = std::make_shared<KernelBackend>(gpu, outputs, std::move(kernel), std::move(modes));
    EXPECT_TRUE(b.backends.register_backend(id, backend).ok());
    return *backend;
  }
  /// A tensor that the exporter put on the GPU.
  std::int32_t gpu_tensor(std::int64_t offset = MethodBuilder::kUnplanned) {
    const std::int32_t value = b.tensor({kSize}, offset, false, ScalarType::Float, 1);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  MethodBuilder& copy(const std::string& direction, std::int32_t from, std::int32_t to) {
    return b.kernel("et_copy::_" + direction + "_copy.out", {from, to, to});
  }

  std::unique_ptr<TestMethod> load(MethodOptions options = {}) {
    options.device = kGpu;
    auto method = std::make_unique<TestMethod>(b, gpu, options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  static std::size_t count(const runtime::Schedule& schedule, Step::Kind kind) {
    return static_cast<std::size_t>(std::ranges::count(schedule.steps, kind, &Step::kind));
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
  static ExecuteOptions on(StreamRef stream) {
    ExecuteOptions options;
    options.stream = stream;
    return options;
  }

  SimulatedGpu gpu{1};
  MethodBuilder b;
};

TEST_F(DeviceRunTest, CopyOperatorsMoveBetweenTheSides) {
  const auto x = b.tensor({kSize});
  const auto dx = gpu_tensor(0);
  const auto dy = gpu_tensor(64);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("h2d", x, dx);
  b.delegate("Plus1", {dx, dy});
  copy("d2h", dy, y);
  const auto method = load();
  EXPECT_EQ(count(method->schedule(), Step::Kind::Copy), 2U);
  EXPECT_EQ(count(method->schedule(), Step::Kind::Kernel), 0U);
  EXPECT_TRUE(method->is_fully_async());
  for (int i = 0; i < 5; ++i) {
    gpu.reset_counts();
    EXPECT_EQ(result(method->execute({all(static_cast<float>(i))})), all_of(static_cast<float>(i) + 1));
    EXPECT_EQ(gpu.counts().copies, 2);
    EXPECT_EQ(gpu.counts().launches + gpu.counts().graph_launches, 1);
    EXPECT_EQ(gpu.counts().synchronizes, 0);  // one wait, for the event at the end
  }
}

TEST_F(DeviceRunTest, ValuesThatOnlyTheDeviceTouchesLiveThere) {
  // As the first exporters wrote them: everything planned on the host, no copies.
  auto last = b.tensor({kSize});
  b.inputs({last});
  std::vector<std::int32_t> between;
  for (int i = 0; i < 5; ++i) {
    const auto next = b.tensor({kSize}, i == 4 ? MethodBuilder::kUnplanned : 64 * (i % 2));
    b.delegate("Plus1", {last, next});
    if (i != 4) between.push_back(next);
    last = next;
  }
  b.outputs({last});
  const auto method = load();
  for (const std::int32_t value : between) {
    const runtime::ValuePlan& plan = method->schedule().values[static_cast<std::size_t>(value)];
    EXPECT_EQ(plan.device, kGpu);
    EXPECT_EQ(method->schedule().buffers[plan.place.buffer].device, kGpu);
  }
  EXPECT_EQ(count(method->schedule(), Step::Kind::Copy), 2U);  // in and out
  EXPECT_EQ(result(method->execute({all(1)})), all_of(6));
  EXPECT_EQ(result(method->execute({all(10)})), all_of(15));
}

TEST_F(DeviceRunTest, TheHostWaitsOnlyBeforeItsOwnSteps) {
  const auto x = b.tensor({kSize});
  const auto one = b.number(1);
  const auto a = gpu_tensor(0);
  const auto c = gpu_tensor(64);
  const auto h = b.tensor({kSize}, 128);
  const auto s = b.tensor({kSize}, 192);
  const auto t = b.tensor({kSize}, 256);
  const auto d = gpu_tensor(320);
  const auto e = gpu_tensor(384);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("h2d", x, a);
  b.delegate("Plus1", {a, c});
  copy("d2h", c, h);
  b.kernel("aten::add.out", {h, h, one, s, s}).kernel("aten::add.out", {s, h, one, t, t});
  copy("h2d", t, d);
  b.delegate("Plus1", {d, e});
  copy("d2h", e, y);
  const auto method = load();
  EXPECT_FALSE(method->is_fully_async());
  EXPECT_TRUE(runtime::find_conflicts(method->schedule(), method->schedule().streams).empty());
  ASSERT_EQ(method->schedule().streams.syncs.size(), 1U);  // one join for two steps
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    gpu.reseed(seed);
    gpu.reset_counts();
    const auto number = static_cast<float>(seed);
    EXPECT_EQ(result(method->execute({all(number)})), all_of(3 * (number + 1) + 1));
    EXPECT_EQ(gpu.counts().synchronizes, 1);
  }
  EXPECT_EQ(method->execute_async({all(1)}).error().code(), ErrorCode::WouldBlock);
  ExecuteOptions options;
  std::thread runner;
  options.executor = [&runner](std::function<void()> job) { runner = std::thread{std::move(job)}; };
  const auto execution = method->execute_async({all(1)}, options);
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(result(execution->get()), all_of(7));
  runner.join();
}

TEST_F(DeviceRunTest, DelegatesOfTheHostGetScratchOfTheHost) {
  const auto x = b.tensor({kSize});
  const auto h = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize});
  std::span<std::byte> seen;
  const auto backend = std::make_shared<testing::FunctionBackend>(1, [&seen](EnqueueArgs& args) {
    seen = args.scratch;
    return testing::add_number(10)(args);
  });
  backend->want_scratch(64);
  ASSERT_TRUE(b.backends.register_backend("OnHost", backend).ok());
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, h}).delegate("OnHost", {h, y});
  const auto method = load();
  EXPECT_EQ(result(method->execute({all(1)})), all_of(12));
  ASSERT_EQ(seen.size(), 64U);
  EXPECT_FALSE(gpu.owns(seen.data(), seen.size()));
  std::ranges::fill(seen, std::byte{1});
}

TEST_F(DeviceRunTest, DelegatesOfTheDeviceAreRefusedOnTheHost) {
  const auto x = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(lowered.error().site().delegate, 0);
}

TEST_F(DeviceRunTest, AMissingJoinIsFound) {
  const auto x = b.tensor({kSize});
  const auto h = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, h}).kernel("aten::relu.out", {h, y, y});
  auto input = b.lower_input();
  input.device = kGpu;
  auto schedule = runtime::lower(input);
  ASSERT_TRUE(schedule.ok()) << schedule.error().to_string();
  ASSERT_FALSE((*schedule)->streams.syncs.empty());
  (*schedule)->streams.syncs.clear();
  EXPECT_FALSE(runtime::find_conflicts(**schedule, (*schedule)->streams).empty());
}

TEST_F(DeviceRunTest, WhatBothSidesTouchIsCopiedOncePerCrossing) {
  // h is written by a delegate, read by the host and by two further delegates.
  const auto x = b.tensor({kSize});
  const auto h = b.tensor({kSize}, 0);
  const auto r = b.tensor({kSize}, 64);
  const auto p = b.tensor({kSize}, 128);
  const auto y = b.tensor({kSize});
  add_backend("Add", 1, [](const std::vector<TensorArg>& arguments) {
    for (std::int64_t i = 0; i < kSize; ++i) {
      static_cast<float*>(arguments[2].data)[i] =
          static_cast<const float*>(arguments[0].data)[i] + static_cast<const float*>(arguments[1].data)[i];
    }
  });
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, h}).kernel("aten::relu.out", {h, r, r});
  b.delegate("Plus1", {h, p}).delegate("Add", {p, r, y});
  const auto method = load();
  // x in, h out, r in, y out; h is still on the device when it is read there.
  EXPECT_EQ(count(method->schedule(), Step::Kind::Copy), 4U);
  EXPECT_EQ(result(method->execute({all(-5)})), all_of(-3));
  EXPECT_EQ(result(method->execute({all(5)})), all_of(13));
}

TEST_F(DeviceRunTest, AValueThatOnlyGoesOutAndInAgainStays) {
  const auto x = b.tensor({kSize});
  const auto a = gpu_tensor(0);
  const auto c = gpu_tensor(64);
  const auto h = b.tensor({kSize}, 128);
  const auto d = gpu_tensor(192);
  const auto e = gpu_tensor(256);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("h2d", x, a);
  b.delegate("Plus1", {a, c});
  copy("d2h", c, h);
  copy("h2d", h, d);
  b.delegate("Plus1", {d, e});
  copy("d2h", e, y);
  const auto method = load();
  EXPECT_TRUE(method->is_fully_async());
  EXPECT_EQ(result(method->execute({all(3)})), all_of(5));
}

TEST_F(DeviceRunTest, InputsAndOutputsOnTheDevice) {
  const auto x = gpu_tensor();
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  const auto method = load();
  EXPECT_EQ(count(method->schedule(), Step::Kind::Copy), 0U);
  const auto refused = method->execute({all(1)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().expected(), "cuda:0");
  EXPECT_EQ(refused.error().found(), "host");
  // Nothing lives on the host: execute() does not wait.
  const Stream closed{*gpu.make_stream()};
  const Event gate = *gpu.thread_stream().make_event();
  gate.impl()->hold();
  ASSERT_TRUE(closed.wait(gate).ok());
  const auto outputs = method->execute({on_gpu(41)}, on(closed));
  ASSERT_TRUE(outputs.ok());
  const Tensor& out = outputs->front().tensor();
  EXPECT_EQ(out.device(), kGpu);
  EXPECT_NE(out.data_as<float>()[0], 42.F);
  gate.impl()->signal();
  ASSERT_TRUE(closed.synchronize().ok());
  EXPECT_EQ(out.data_as<float>()[0], 42.F);
  // And the reverse: host planned, device given.
  MethodBuilder host;
  ASSERT_TRUE(host.backends.register_backend("Plus1", std::make_shared<KernelBackend>(gpu, 1, add_on_gpu(1))).ok());
  const auto hx = host.tensor({kSize});
  const auto hy = host.tensor({kSize});
  host.inputs({hx}).outputs({hy}).delegate("Plus1", {hx, hy});
  MethodOptions options;
  options.device = kGpu;
  const TestMethod other{host, gpu, options};
  const auto reversed = other.execute({on_gpu(1)});
  ASSERT_FALSE(reversed.ok());
  EXPECT_EQ(reversed.error().expected(), "host");
}

TEST_F(DeviceRunTest, InputsOnTheDeviceAreCopiedToTheHost) {
  const auto x = gpu_tensor();
  const auto h = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("d2h", x, h);
  b.kernel("aten::relu.out", {h, y, y});
  const auto method = load();
  ASSERT_EQ(method->schedule().values[static_cast<std::size_t>(x)].device, kGpu);
  EXPECT_EQ(result(method->execute({Value{on_gpu(3)}})), all_of(3));
  EXPECT_EQ(result(method->execute({Value{on_gpu(-3)}})), all_of(0));
}

TEST_F(DeviceRunTest, SmallInputsGoThroughTheInstancesOwnStagingWhileNobodyReadsIt) {
  const auto x = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  MethodOptions options;
  options.max_in_flight = 4;
  const auto method = load(options);
  const Stream stream{*gpu.make_stream()};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    gpu.reseed(seed);
    std::vector<Execution> executions;
    for (int i = 0; i < 4; ++i) {  // three of them while the first may still read
      auto execution = method->execute_async({all(static_cast<float>(i))}, on(stream));
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(result(executions[static_cast<std::size_t>(i)].get()), all_of(static_cast<float>(i) + 1));
    }
  }
}

TEST_F(DeviceRunTest, InputsOnTheDeviceHaveToBeDense) {
  const auto x = gpu_tensor();
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  const auto method = load();
  auto memory = std::make_shared<device::Buffer>(*gpu.allocate(2 * kSize * sizeof(float)));
  const auto sparse = Tensor::from_blob(
      memory->data(), ScalarType::Float, std::array{kSize}, std::array<std::int64_t, 1>{2}, [memory] {}, kGpu);
  ASSERT_TRUE(sparse.ok());
  const auto refused = method->execute({*sparse});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(refused.error().site().argument, 0);
  EXPECT_EQ(refused.error().expected(), "[1]");
  EXPECT_EQ(refused.error().found(), "[2]");
}

TEST_F(DeviceRunTest, CopiesDoNotChangeTheLayout) {
  const auto x = b.tensor({2, 3});
  const auto d = b.tensor({2, 3}, 0);
  const auto y = b.tensor({2, 3});
  const std::array<std::uint8_t, 2> columns_first{1, 0};
  auto& planned = std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(d)]);
  planned.device = kGpu;
  planned.dim_order.assign(columns_first.begin(), columns_first.end());
  b.inputs({x}).outputs({y});
  copy("h2d", x, d);
  copy("d2h", d, y);
  const auto method = load();
  const auto refused = method->execute({floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(refused.error().site().instruction, 0);
  EXPECT_EQ(refused.error().expected(), "[1, 2]");
  EXPECT_EQ(refused.error().found(), "[3, 1]");
}

TEST_F(DeviceRunTest, ListsOfADelegateLieOnTheDevice) {
  const auto x = b.tensor({kSize});
  const auto y = gpu_tensor();
  const auto list = b.tensors({x});
  b.inputs({x}).outputs({y}).delegate("Plus1", {list, y});
  auto input = b.lower_input();
  input.device = kGpu;
  const auto lowered = runtime::lower(input);
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(lowered.error().site().value, list);
  EXPECT_EQ(lowered.error().site().delegate, 0);
}

TEST_F(DeviceRunTest, ExecutionsOnStreamsAreOrderedUnderEverySeed) {
  auto last = b.tensor({kSize});
  b.inputs({last});
  for (int i = 0; i < 3; ++i) {
    const auto next = b.tensor({kSize}, i == 2 ? MethodBuilder::kUnplanned : 64 * i);
    b.delegate("Plus1", {last, next});
    last = next;
  }
  b.outputs({last});
  const auto method = load();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    gpu.reseed(seed);
    std::vector<Stream> streams;
    for (int i = 0; i < 2; ++i) streams.emplace_back(*gpu.make_stream());
    std::vector<Execution> executions;
    for (std::size_t i = 0; i < 4; ++i) {
      auto execution = method->execute_async({all(static_cast<float>(10 * i + seed))}, on(streams[i % 2]));
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(result(executions[i].get()), all_of(static_cast<float>(10 * i + seed) + 3)) << "seed " << seed;
    }
  }
}

TEST_F(DeviceRunTest, AStreamPerDelegateIsWrongHereToo) {
  auto last = b.tensor({kSize});
  b.inputs({last});
  for (int i = 0; i < 4; ++i) {
    const auto next = b.tensor({kSize}, i == 3 ? MethodBuilder::kUnplanned : 64 * i);
    b.delegate("Plus1", {last, next});
    last = next;
  }
  b.outputs({last});
  MethodOptions options;
  options.streams = StreamPolicy::PerDelegate;
  options.device = kGpu;
  EXPECT_EQ((TestMethod{b, gpu, options}).loaded().error().code(), ErrorCode::OrderViolation);
  options.allow_races = true;
  const auto method = load(options);
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    gpu.reseed(seed);
    wrong += result(method->execute({all(static_cast<float>(seed))})) != all_of(static_cast<float>(seed) + 4) ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

TEST_F(DeviceRunTest, StatesLiveOnTheDevice) {
  add_backend("Count", 1,
              [](const std::vector<TensorArg>& arguments) {
                for (std::int64_t i = 0; i < kSize; ++i) {
                  auto& total = static_cast<float*>(arguments[1].data)[i];
                  total += static_cast<const float*>(arguments[0].data)[i];
                  static_cast<float*>(arguments[2].data)[i] = total;
                }
              },
              {AccessMode::Read, AccessMode::Update, AccessMode::Write});
  const auto x = b.tensor({kSize});
  const auto total = b.state({kSize}, 0, std::vector<float>(kSize, 100));
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Count", {x, total, y});
  const auto method = load();
  EXPECT_EQ(result(method->execute({all(1)})), all_of(101));
  EXPECT_EQ(result(method->execute({all(2)})), all_of(103));
  ExecuteOptions own;
  own.state = method->new_state();
  EXPECT_EQ(result(method->execute({all(5)}, own)), all_of(105));
  ASSERT_TRUE(method->state()->reset().ok());
  EXPECT_EQ(result(method->execute({all(1)})), all_of(101));
}

TEST_F(DeviceRunTest, BoundOutputsOfTheHostAreFilledBeforeTheCallReturns) {
  const auto x = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  const auto method = load();
  const Tensor bound = all(0).tensor();
  ExecuteOptions options;
  options.outputs = {&bound, 1};
  EXPECT_EQ(result(method->execute({all(1)}, options)), all_of(2));
  EXPECT_EQ(to_floats(Value{bound}), all_of(2));
  EXPECT_EQ(method->execute_async({all(1)}, options).error().code(), ErrorCode::WouldBlock);
  options.executor = [](const std::function<void()>& job) { job(); };
  const auto execution = method->execute_async({all(5)}, options);
  ASSERT_TRUE(execution.ok()) << execution.error().to_string();
  EXPECT_EQ(result(execution->get()), all_of(6));
  EXPECT_EQ(to_floats(Value{bound}), all_of(6));
}

TEST_F(DeviceRunTest, WhatAnExecutorRanIsOverOnTheDeviceToo) {
  const auto x = gpu_tensor();
  const auto one = b.number(1);
  const auto a = gpu_tensor(0);
  const auto h = b.tensor({kSize}, 64);
  const auto t = b.tensor({kSize}, 128);
  const auto d = gpu_tensor(192);
  const auto e = gpu_tensor(256);
  const auto y = gpu_tensor();
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, a});
  copy("d2h", a, h);
  b.kernel("aten::add.out", {h, h, one, t, t});
  copy("h2d", t, d);
  for (int i = 0; i < 10; ++i) b.delegate("Plus1", {d, e}).delegate("Plus1", {e, d});
  b.delegate("Plus1", {d, y});
  const auto method = load();
  EXPECT_FALSE(method->is_fully_async());
  ExecuteOptions options;
  options.executor = [](const std::function<void()>& job) { job(); };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    gpu.reseed(seed);
    const auto number = static_cast<float>(seed);
    const auto execution = method->execute_async({on_gpu(number)}, options);
    ASSERT_TRUE(execution.ok()) << execution.error().to_string();
    EXPECT_EQ(result(execution->get()), all_of(2 * (number + 1) + 21));
  }
}

TEST_F(DeviceRunTest, InputsThatAreCopiedOnTheHostWaitForTheRunBefore) {
  const auto x = b.tensor({2, 2});
  const auto y = b.tensor({2, 2});
  b.inputs({x}).outputs({y}).delegate("Plus1", {x, y});
  const auto method = load();
  const std::vector<float> columns{1, 3, 2, 4};
  const Stream stream{*gpu.make_stream()};
  for (int round = 0; round < 10; ++round) {
    std::vector<float> numbers = columns;
    for (float& number : numbers) number += static_cast<float>(round);
    const auto transposed = Tensor::from_blob(numbers.data(), ScalarType::Float, std::array<std::int64_t, 2>{2, 2},
                                              std::array<std::int64_t, 2>{1, 2});
    const auto execution = method->execute_async({*transposed}, on(stream));
    ASSERT_TRUE(execution.ok());
    const auto r = static_cast<float>(round);
    EXPECT_EQ(result(execution->get()), (std::vector<float>{2 + r, 3 + r, 4 + r, 5 + r}));
  }
}

TEST_F(DeviceRunTest, LoopsTakeTheirConditionFromTheHost) {
  // do { x += 1; stop = x[0] >= 3 } while (not stop)
  add_backend("Step", 1,
              [](const std::vector<TensorArg>& arguments) {
                auto* const x = static_cast<float*>(arguments[0].data);
                for (std::int64_t i = 0; i < kSize; ++i) x[i] += 1;
                *static_cast<bool*>(arguments[1].data) = x[0] >= 3;
              },
              {AccessMode::Update, AccessMode::Write});
  const auto x = b.tensor({kSize});
  const auto work = gpu_tensor(0);
  const auto stop = b.tensor({1}, 64, false, ScalarType::Bool);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("h2d", x, work);
  b.delegate("Step", {work, stop});
  b.jump_if_false(stop, 1);
  copy("d2h", work, y);
  const auto method = load();
  EXPECT_FALSE(method->is_fully_async());
  EXPECT_EQ(result(method->execute({all(0)})), all_of(3));
  EXPECT_EQ(result(method->execute({all(-4)})), all_of(3));
  EXPECT_EQ(result(method->execute({all(7)})), all_of(8));
}

TEST_F(DeviceRunTest, FailuresAtEveryStepLeaveTheMethodUsable) {
  auto& backend = add_backend("Fails", 1, add_on_gpu(1));
  auto last = b.tensor({kSize});
  b.inputs({last});
  for (int i = 0; i < 3; ++i) {
    const auto next = b.tensor({kSize}, i == 2 ? MethodBuilder::kUnplanned : 64 * i);
    b.delegate("Fails", {last, next});
    last = next;
  }
  b.outputs({last});
  const auto method = load();
  const Stream stream{*gpu.make_stream()};
  EXPECT_EQ(result(method->execute({all(1)})), all_of(4));
  for (int failing = 0; failing < 3; ++failing) {
    backend.fail_at(failing);
    const auto failed = method->execute_async({all(1)}, on(stream));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code(), ErrorCode::BackendFailed);
    EXPECT_EQ(failed.error().site().delegate, failing);
    EXPECT_EQ(result(method->execute({all(5)})), all_of(8));  // on another stream, ordered after what was enqueued
  }
}

}  // namespace
}  // namespace tandem
