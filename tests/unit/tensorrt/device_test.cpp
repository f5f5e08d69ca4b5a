// Engines in methods on a simulated GPU: order, copies, waits, caches.
#include "backends/tensorrt/tensorrt_backend.h"
#include "support/reference_engine/reference_engine.h"
#include "support/reference_engine/reference_provider.h"
#include "support/reference_engine/simulated_gpu_runner.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace tandem {
namespace {

using testing::blob_of;
using testing::floats;
using testing::MethodBuilder;
using testing::ReferenceEngine;
using testing::ReferenceProvider;
using testing::SimulatedGpu;
using testing::SimulatedGpuRunner;
using testing::TestMethod;
using testing::to_floats;

constexpr DeviceId kGpu{DeviceType::Cuda, 0};
constexpr std::int64_t kSize = 8;

class EnginesOnGpuTest : public ::testing::Test {
 protected:
  EnginesOnGpuTest() {
    const std::shared_ptr<ReferenceProvider> view{std::shared_ptr<void>{}, &provider};
    EXPECT_TRUE(b.backends.register_backend("TensorRTBackend", tensorrt::make_tensorrt_backend(view)).ok());
  }
  void engine(const ReferenceEngine& spec, std::vector<std::int32_t> args) {
    b.delegate("TensorRTBackend", std::move(args));
    const std::string& blob = blobs.emplace_back(blob_of(spec));
    b.method().delegates.back().payload = std::as_bytes(std::span{blob});
  }
  std::int32_t on_gpu(std::vector<std::int64_t> sizes, std::int64_t offset, ScalarType dtype = ScalarType::Float) {
    const std::int32_t value = b.tensor(std::move(sizes), offset, false, dtype);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  void copy(const std::string& direction, std::int32_t from, std::int32_t to) {
    b.kernel("et_copy::_" + direction + "_copy.out", {from, to, to});
  }
  std::unique_ptr<TestMethod> load(MethodOptions options = {}) {
    options.device = kGpu;
    auto method = std::make_unique<TestMethod>(b, gpu, options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  /// x -> 6 engines of 2x + i -> y, every other one with an auxiliary stream.
  void chain() {
    auto last = b.tensor({kSize}, 0);
    b.inputs({last});
    for (int i = 0; i < 6; ++i) {
      ReferenceEngine spec = ReferenceEngine::affine({kSize}, 2, static_cast<float>(i));
      spec.auxiliary_streams = i % 2;
      const auto next = b.tensor({kSize}, 64 * (i % 2 + 1));
      engine(spec, {last, next});
      last = next;
    }
    b.outputs({last});
  }
  static std::vector<float> after_chain(float x) {
    for (int i = 0; i < 6; ++i) x = 2 * x + static_cast<float>(i);
    return std::vector<float>(kSize, x);
  }
  static Value all(float x) { return floats({kSize}, std::vector<float>(kSize, x)); }

  SimulatedGpu gpu{1};
  SimulatedGpuRunner runner{gpu};
  ReferenceProvider provider{runner};
  MethodBuilder b;
  std::deque<std::string> blobs;
};

TEST_F(EnginesOnGpuTest, AChainCopiesItsEndsAndWaitsForNothing) {
  chain();
  const auto method = load();
  EXPECT_TRUE(method->is_fully_async());
  for (int i = 0; i < 5; ++i) {
    gpu.reset_counts();
    const auto outputs = method->execute({all(static_cast<float>(i))});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(to_floats(outputs->front()), after_chain(static_cast<float>(i)));
    EXPECT_EQ(gpu.counts().copies, 2);
    EXPECT_EQ(gpu.counts().synchronizes, 0);
  }
  EXPECT_EQ(provider.counts().contexts, 6);
  EXPECT_EQ(provider.counts().infers, 6);  // at the first run
}

TEST_F(EnginesOnGpuTest, AChainIsCapturedWithItsAuxiliaryStreams) {
  chain();
  MethodOptions options;
  options.graphs = GraphPolicy::On;
  const auto method = load(options);
  const Stream streams[] = {Stream{*gpu.make_stream()}, Stream{*gpu.make_stream()}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    gpu.reseed(seed);
    gpu.reset_counts();
    std::vector<Execution> runs;
    for (int i = 0; i < 6; ++i) {
      ExecuteOptions how;
      how.stream = streams[i % 2].ref();
      auto run = method->execute_async({all(static_cast<float>(i))}, how);
      ASSERT_TRUE(run.ok()) << run.error().to_string();
      runs.push_back(*std::move(run));
    }
    for (int i = 0; i < 6; ++i) {
      const auto outputs = runs[static_cast<std::size_t>(i)].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      EXPECT_EQ(to_floats(outputs->front()), after_chain(static_cast<float>(i))) << "seed " << seed << ", run " << i;
    }
    EXPECT_EQ(gpu.counts().graph_launches, seed == 1 ? 3 : 6) << "the first run brings scratch";
  }
  EXPECT_EQ(method->graphs().front().refusal, "");
}

TEST_F(EnginesOnGpuTest, APreparedMethodIsAGraphAtOnceWhateverScratchItsEnginesWant) {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  for (const std::int64_t size : {8, 1024, 16}) {  // the second wants more than the first left
    inputs.push_back(b.tensor({size}));
    outputs.push_back(b.tensor({size}));
    engine(ReferenceEngine::affine({size}, 2, 1), {inputs.back(), outputs.back()});
  }
  b.inputs(inputs).outputs(outputs);
  MethodOptions options;
  options.graphs = GraphPolicy::On;
  const auto method = load(options);
  const auto row = [](float x) {
    std::vector<Value> values;
    for (const std::size_t size : {8, 1024, 16}) {
      values.push_back(floats({static_cast<std::int64_t>(size)}, std::vector<float>(size, x)));
    }
    return values;
  };
  const Status prepared = method->prepare(row(0));
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  for (int i = 0; i < 4; ++i) {
    const auto found = method->execute(row(static_cast<float>(i)));
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    for (const Value& value : *found) {
      const std::vector<float> numbers = to_floats(value);
      EXPECT_EQ(numbers, std::vector<float>(numbers.size(), 2 * static_cast<float>(i) + 1));
    }
  }
  EXPECT_EQ(gpu.counts().launches, 0) << "no step by itself";
  EXPECT_GT(gpu.counts().graph_launches, 0);
}

TEST_F(EnginesOnGpuTest, RunsOnSeveralStreamsAndInstancesAreOrderedInEverySchedule) {
  chain();
  MethodOptions options;
  options.instances = 2;
  options.max_in_flight = 8;
  options.graphs = GraphPolicy::Off;  // the engines' own turns are counted, which a graph does not take
  const auto method = load(options);
  EXPECT_EQ(provider.counts().contexts, 12);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    gpu.reseed(seed);
    std::vector<Stream> streams;
    for (int s = 0; s < 3; ++s) streams.emplace_back(*gpu.make_stream());
    std::vector<Execution> runs;
    for (int i = 0; i < 9; ++i) {
      ExecuteOptions how;
      how.stream = streams[static_cast<std::size_t>(i) % 3].ref();
      auto run = method->execute_async({all(static_cast<float>(i))}, how);
      ASSERT_TRUE(run.ok()) << run.error().to_string();
      runs.push_back(*std::move(run));
    }
    for (int i = 0; i < 9; ++i) {
      const auto outputs = runs[static_cast<std::size_t>(i)].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      EXPECT_EQ(to_floats(outputs->front()), after_chain(static_cast<float>(i))) << "seed " << seed << ", run " << i;
    }
  }
  EXPECT_EQ(provider.counts().overtaken, 0);
}

TEST_F(EnginesOnGpuTest, TheReferenceLibrarySeesRunsThatNobodyOrders) {
  const std::string bytes = ReferenceEngine::affine({kSize}, 1, 0).serialize();
  const auto loaded = *provider.deserialize(std::as_bytes(std::span{bytes}), kGpu);
  const device::Buffer memory = *gpu.allocate(3 * kSize * sizeof(float));
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    gpu.reseed(seed);
    const auto one = *gpu.make_stream();
    const auto two = *gpu.make_stream();
    const auto context = *loaded->new_context();
    const std::vector<std::int64_t> sizes{kSize};
    ASSERT_TRUE(context->set_shape(0, sizes).ok());
    ASSERT_TRUE(context->infer_shapes().ok());
    ASSERT_TRUE(context->set_scratch(memory.bytes()).ok());
    ASSERT_TRUE(context->set_address(0, memory.data()).ok());
    ASSERT_TRUE(context->set_address(1, memory.data()).ok());
    for (device::Stream* stream : {one.get(), two.get(), one.get()}) ASSERT_TRUE(context->enqueue(*stream).ok());
    ASSERT_TRUE(one->synchronize().ok());
    ASSERT_TRUE(two->synchronize().ok());
  }
  EXPECT_GT(provider.counts().overtaken, 0);
}

TEST_F(EnginesOnGpuTest, AStepOfACacheCopiesTheNewTokenOnly) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kColumns = 4;
  const auto token = b.tensor({1, kColumns}, 0);
  const auto position = b.tensor({1}, 64, false, ScalarType::Long);
  const auto cache = b.tensor({kRows, kColumns}, 4096);  // of the host, zeros
  const auto y = b.tensor({1, kColumns}, 128);
  const auto fresh = b.tensor({kRows, kColumns}, 8192);
  const auto d_token = on_gpu({1, kColumns}, 16384);
  const auto d_position = on_gpu({1}, 16448, ScalarType::Long);
  const auto d_cache = on_gpu({kRows, kColumns}, 20480);
  const auto d_y = on_gpu({1, kColumns}, 16512);
  const auto d_fresh = on_gpu({kRows, kColumns}, 24576);
  b.inputs({token, position}).outputs({y});
  copy("h2d", token, d_token);
  copy("h2d", position, d_position);
  copy("h2d", cache, d_cache);
  engine(ReferenceEngine::cache(kRows, kColumns), {d_token, d_position, d_cache, d_y, d_fresh});
  copy("d2h", d_y, y);
  copy("d2h", d_fresh, fresh);
  b.kernel("aten::copy_", {cache, fresh, b.flag(false), cache});
  const auto method = load();
  EXPECT_TRUE(method->is_fully_async());
  float sum = 0;
  for (std::int64_t step = 0; step < 8; ++step) {
    gpu.reset_counts();
    Tensor at = *Tensor::empty(ScalarType::Long, std::array<std::int64_t, 1>{1});
    *at.data_as<std::int64_t>() = step;
    const auto row = static_cast<float>(step + 1);
    sum += row;
    const auto outputs = method->execute({floats({1, kColumns}, std::vector<float>(kColumns, row)), at});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(to_floats(outputs->front()), std::vector<float>(kColumns, sum));
    // The token, its position, and what comes out; a cache would be 1,024 bytes.
    EXPECT_EQ(gpu.counts().copied_bytes, 2 * kColumns * sizeof(float) + sizeof(std::int64_t));
    EXPECT_EQ(gpu.counts().synchronizes, 0);
  }
}

TEST_F(EnginesOnGpuTest, AFailureInTheMiddleSpoilsTheStateAndNothingElse) {
  const auto token = b.tensor({1, 2}, 0);
  const auto position = b.tensor({1}, 64, false, ScalarType::Long);
  const auto cache = b.tensor({4, 2}, 128);
  const auto y = b.tensor({1, 2}, 192);
  const auto fresh = b.tensor({4, 2}, 256);
  const auto z = b.tensor({1, 2}, 320);
  b.inputs({token, position}).outputs({z});
  engine(ReferenceEngine::cache(4, 2), {token, position, cache, y, fresh});
  engine(ReferenceEngine::affine({1, 2}, 1, 1), {y, z});
  b.kernel("aten::copy_", {cache, fresh, b.flag(false), cache});
  const auto method = load();
  Tensor at = *Tensor::empty(ScalarType::Long, std::array<std::int64_t, 1>{1});
  *at.data_as<std::int64_t>() = 0;
  const std::vector<Value> inputs{floats({1, 2}, {1, 2}), at};
  provider.failing_enqueue = 1;
  const auto failed = method->execute(inputs);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().native().text, "enqueue: as told");
  EXPECT_EQ(failed.error().site().delegate, 1);
  EXPECT_EQ(method->execute(inputs).error().code(), ErrorCode::InvalidState);
  ASSERT_TRUE(method->state()->reset().ok());
  const auto outputs = method->execute(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ(to_floats(outputs->front()), (std::vector<float>{2, 3}));
}

TEST_F(EnginesOnGpuTest, ValuesThatTheProgramPlansBetweenTheLibrarysAddressesAreMoved) {
  const auto x = b.tensor({kSize}, 16);
  const auto h = b.tensor({kSize}, 80);
  const auto y = b.tensor({kSize}, 144);
  b.inputs({x}).outputs({y});
  engine(ReferenceEngine::affine({kSize}, 2, 0), {x, h});
  engine(ReferenceEngine::affine({kSize}, 2, 0), {h, y});
  const auto method = load();
  const auto outputs = method->execute({all(3)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ(to_floats(outputs->front()), std::vector<float>(kSize, 12));
}

TEST_F(EnginesOnGpuTest, OneDelegateThatIsCalledTwiceBindsForEachCall) {
  const auto x = b.tensor({kSize}, 0);
  const auto h = b.tensor({kSize}, 64);
  const auto y = b.tensor({kSize}, 128);
  b.inputs({x}).outputs({y});
  engine(ReferenceEngine::affine({kSize}, 2, 1), {x, h});
  b.call(0, {h, y});
  const auto method = load();
  for (int i = 0; i < 3; ++i) {
    const auto outputs = method->execute({all(1)});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(to_floats(outputs->front()), std::vector<float>(kSize, 7));
  }
  EXPECT_EQ(provider.counts().infers, 1);  // both have one shape
}

}  // namespace
}  // namespace tandem
