#include "backends/tensorrt/tensorrt_backend.h"
#include "runtime/schedule.h"
#include "support/reference_engine/reference_engine.h"
#include "support/reference_engine/reference_provider.h"

#include <tandem/method.h>
#include <tandem/program.h>
#include <tandem/program_builder.h>
#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::blob_of;
using testing::HostRunner;
using testing::ReferenceEngine;
using testing::ReferenceProvider;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kColumns = 3;

class EnginesTest : public ::testing::Test {
 protected:
  EnginesTest() {
    const std::shared_ptr<ReferenceProvider> view{std::shared_ptr<void>{}, &provider};
    EXPECT_TRUE(backends.register_backend("TensorRTBackend", tensorrt::make_tensorrt_backend(view)).ok());
  }
  static DelegateHandle delegate(MethodBuilder& method, const ReferenceEngine& engine) {
    const std::string blob = blob_of(engine);
    return method.delegate({.id = "TensorRTBackend", .payload = std::as_bytes(std::span{blob})});
  }
  static TensorHandle tensor(MethodBuilder& method, bool dynamic = true) {
    return method.tensor({.sizes = {kRows, kColumns}, .dynamic = dynamic});
  }
  std::shared_ptr<Method> load(MethodOptions options = {}) {
    auto made = program.build();
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    built = *std::move(made);
    auto loaded = Program::from_bytes(built.pte);
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    options.backends = &backends;
    auto method = Method::load(*loaded, "forward", options);
    EXPECT_TRUE(method.ok()) << method.error().to_string();
    return method.ok() ? *std::move(method) : nullptr;
  }
  /// x -> relu(2x + 1) -> 3 - ... engines and operators in turn, sizes that vary.
  void chain() {
    MethodBuilder& m = program.method("forward");
    const auto x = tensor(m);
    m.inputs({x});
    TensorHandle last = x;
    for (int i = 0; i < 4; ++i) {
      const auto scaled = tensor(m);
      const auto next = tensor(m);
      m.call(delegate(m, ReferenceEngine::affine({-1, kColumns}, i % 2 == 0 ? 2.0F : -1.0F, static_cast<float>(i),
                                                 {1, kColumns}, {kRows, kColumns})),
             {last, scaled});
      if (i % 2 == 0) {
        m.kernel("aten::relu.out", {scaled, next, next});
      } else {
        m.kernel("aten::neg.out", {scaled, next, next});
      }
      last = next;
    }
    m.outputs({last});
  }
  static float after_chain(float x) {
    for (int i = 0; i < 4; ++i) {
      x = (i % 2 == 0 ? 2.0F : -1.0F) * x + static_cast<float>(i);
      x = i % 2 == 0 ? std::max(x, 0.0F) : -x;
    }
    return x;
  }
  static Tensor input(std::int64_t rows, float first) {
    Tensor made = *Tensor::empty(ScalarType::Float, std::array<std::int64_t, 2>{rows, kColumns});
    for (std::int64_t i = 0; i < made.numel(); ++i) made.data_as<float>()[i] = first + static_cast<float>(i);
    return made;
  }
  static void expect_chain(const Result<std::vector<Value>>& outputs, std::int64_t rows, float first) {
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    const Tensor& y = outputs->front().tensor();
    ASSERT_EQ(y.sizes()[0], rows);
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      EXPECT_EQ(y.data_as<float>()[i], after_chain(first + static_cast<float>(i)));
    }
  }

  HostRunner runner;
  ReferenceProvider provider{runner, 16};
  BackendRegistry backends;
  ProgramBuilder program;
  BuiltProgram built;
};

TEST_F(EnginesTest, AChainOfEnginesAndOperatorsFollowsTheShape) {
  chain();
  const auto method = load();
  ASSERT_NE(method, nullptr);
  for (const std::int64_t rows : {6, 1, 1, 3, 6}) {
    const auto first = static_cast<float>(rows) - 4;
    expect_chain(method->execute(std::vector<Value>{input(rows, first)}), rows, first);
  }
  EXPECT_EQ(provider.counts().infers, 4 * 4);  // four changes of shape for each of four engines
}

TEST_F(EnginesTest, ShapesOutsideTheProfileNameInputAxisAndBounds) {
  chain();
  const auto method = load();
  ASSERT_NE(method, nullptr);
  const auto refused = method->execute(std::vector<Value>{input(0, 0)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().site().field, "x[0]");
  EXPECT_EQ(refused.error().site().delegate, 0);
  EXPECT_EQ(refused.error().expected(), "1 to 6");
  EXPECT_EQ(refused.error().found(), "0");
  expect_chain(method->execute(std::vector<Value>{input(2, 1)}), 2, 1);
}

TEST_F(EnginesTest, TwoInstancesUnderManySchedulesGiveEveryRunItsOwnResult) {
  chain();
  MethodOptions options;
  options.scheduler = std::make_shared<SeededScheduler>(1);
  options.instances = 2;
  options.max_in_flight = 4;
  const auto method = load(options);
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(provider.counts().contexts, 8);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    options.scheduler->reseed(seed);
    std::vector<Stream> streams;
    for (int s = 0; s < 3; ++s) streams.push_back(options.scheduler->make_stream());
    std::vector<Execution> runs;
    for (int i = 0; i < 6; ++i) {
      ExecuteOptions how;
      how.stream = streams[static_cast<std::size_t>(i) % 3].ref();
      auto run = method->execute_async(std::vector<Value>{input(1 + i, static_cast<float>(i))}, how);
      ASSERT_TRUE(run.ok()) << run.error().to_string();
      runs.push_back(*std::move(run));
    }
    for (int i = 0; i < 6; ++i) {
      expect_chain(runs[static_cast<std::size_t>(i)].get(), 1 + i, static_cast<float>(i));
    }
  }
  EXPECT_EQ(provider.counts().overtaken, 0);
}

TEST_F(EnginesTest, ThreadsShareAMethod) {
  chain();
  MethodOptions options;
  options.instances = 2;
  const auto method = load(options);
  ASSERT_NE(method, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::int64_t rows = 1 + (t + i) % kRows;
        const auto first = static_cast<float>(t * 10 + i);
        expect_chain(method->execute(std::vector<Value>{input(rows, first)}), rows, first);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(provider.counts().overtaken, 0);
}

/// Bytes that the method's steps copy from one value to another.
std::uint64_t copied_bytes(const runtime::Schedule& schedule) {
  std::uint64_t bytes = 0;
  for (const runtime::Step& step : schedule.steps) {
    if (step.kind != runtime::Step::Kind::Kernel) continue;
    if (schedule.operators[step.target]->name.find("copy") == std::string_view::npos) continue;
    bytes += schedule.values[schedule.args_of(step)[0]].place.bytes;
  }
  return bytes;
}

TEST_F(EnginesTest, AStepOfACacheCopiesTheNewTokenOnly) {
  // As exporters write it: the cache is the host's, goes to the GPU, comes back, and is copied into the buffer.
  constexpr DeviceId kGpu{DeviceType::Cuda, 0};
  MethodBuilder& m = program.method("forward");
  m.arena(3, kGpu);
  std::uint64_t offset = 0;
  const auto on_gpu = [&](std::vector<std::int64_t> sizes, ScalarType dtype = ScalarType::Float) {
    offset += 256;
    return m.tensor({.sizes = std::move(sizes), .dtype = dtype, .memory = PlannedMemory{3, offset}, .device = kGpu});
  };
  const auto token = m.tensor({1, kColumns});
  const auto position = m.tensor({1}, ScalarType::Long);
  const auto cache = m.state({kRows, kColumns}, std::vector<float>(kRows * kColumns, 0.0F));
  const auto y = m.tensor({1, kColumns});
  const auto fresh = m.tensor({.sizes = {kRows, kColumns}, .memory = PlannedMemory{1, 1024}});
  const auto d_token = on_gpu({1, kColumns});
  const auto d_position = on_gpu({1}, ScalarType::Long);
  const auto d_cache = on_gpu({kRows, kColumns});
  const auto d_y = on_gpu({1, kColumns});
  const auto d_fresh = on_gpu({kRows, kColumns});
  m.inputs({token, position}).outputs({y});
  m.kernel("et_copy::_h2d_copy.out", {token, d_token, d_token});
  m.kernel("et_copy::_h2d_copy.out", {position, d_position, d_position});
  m.kernel("et_copy::_h2d_copy.out", {cache, d_cache, d_cache});
  m.call(delegate(m, ReferenceEngine::cache(kRows, kColumns)), {d_token, d_position, d_cache, d_y, d_fresh});
  m.kernel("et_copy::_d2h_copy.out", {d_y, y, y});
  m.kernel("et_copy::_d2h_copy.out", {d_fresh, fresh, fresh});
  m.kernel("aten::copy_", {cache, fresh, m.flag(false), cache});
  const auto method = load();
  ASSERT_NE(method, nullptr);
  constexpr std::uint64_t kToken = kColumns * sizeof(float);
  EXPECT_EQ(copied_bytes(method->schedule()), 2 * kToken + sizeof(std::int64_t));
  float sum = 0;
  for (std::int64_t step = 0; step < kRows; ++step) {
    Tensor at = *Tensor::empty(ScalarType::Long, std::array<std::int64_t, 1>{1});
    *at.data_as<std::int64_t>() = step;
    Tensor row = *Tensor::empty(ScalarType::Float, std::array<std::int64_t, 2>{1, kColumns});
    std::fill_n(row.data_as<float>(), kColumns, static_cast<float>(step + 1));
    sum += static_cast<float>(step + 1);
    const auto outputs = method->execute(std::vector<Value>{row, at});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(outputs->front().tensor().data_as<float>()[0], sum);
  }
}

TEST_F(EnginesTest, AMalformedBlobIsRefusedBeforeAnythingRuns) {
  MethodBuilder& m = program.method("forward");
  const auto x = tensor(m, false);
  const auto y = tensor(m, false);
  const std::string blob = "TR01 and no more";
  m.inputs({x}).outputs({y});
  m.call(m.delegate({.id = "TensorRTBackend", .payload = std::as_bytes(std::span{blob})}), {x, y});
  built = *program.build();
  MethodOptions options;
  options.backends = &backends;
  const auto method = Method::load(*Program::from_bytes(built.pte), "forward", options);
  ASSERT_FALSE(method.ok());
  EXPECT_EQ(method.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(method.error().site().backend, "TensorRTBackend");
  EXPECT_EQ(method.error().site().delegate, 0);
  EXPECT_EQ(method.error().site().field, "head");
  EXPECT_EQ(method.error().site().offset, 16U);
}

}  // namespace
}  // namespace tandem
