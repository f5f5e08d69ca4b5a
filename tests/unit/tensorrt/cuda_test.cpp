// Engines in methods on a CUDA device, with kernels that take longer than it takes to enqueue them.
#include "backends/tensorrt/tensorrt_backend.h"
#include "device/cuda/cuda_device.h"
#include "support/reference_engine/cuda_runner.h"
#include "support/reference_engine/reference_engine.h"
#include "support/reference_engine/reference_provider.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::blob_of;
using testing::CudaRunner;
using testing::floats;
using testing::MethodBuilder;
using testing::ReferenceEngine;
using testing::ReferenceProvider;
using testing::TestMethod;
using testing::to_floats;

constexpr DeviceId kGpu{DeviceType::Cuda, 0};
constexpr std::int64_t kSize = 3000;
constexpr int kEngines = 25;

class EnginesOnCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = device::cuda::find_device(0);
    if (!found.ok()) {
      const char* const required = std::getenv("TANDEM_REQUIRE_DEVICES");
      if (required != nullptr && std::string_view{required}.find("cuda") != std::string_view::npos) {
        FAIL() << found.error().to_string();
      }
      GTEST_SKIP() << found.error().to_string();
    }
    device = *found;
    runner = std::make_unique<CudaRunner>(*device);
    provider = std::make_shared<ReferenceProvider>(*runner, 256);
    ASSERT_TRUE(b.backends.register_backend("TensorRTBackend", tensorrt::make_tensorrt_backend(provider)).ok());
  }
  void engine(const ReferenceEngine& spec, std::vector<std::int32_t> args) {
    b.delegate("TensorRTBackend", std::move(args));
    const std::string& blob = blobs.emplace_back(blob_of(spec));
    b.method().delegates.back().payload = std::as_bytes(std::span{blob});
  }
  std::unique_ptr<TestMethod> load(MethodOptions options = {}) {
    options.device = kGpu;
    auto method = std::make_unique<TestMethod>(b, *device, options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  /// x -> engines that halve and add, every other one with an auxiliary stream; planned as exporters do, at 16 bytes.
  void chain() {
    auto last = b.tensor({kSize}, 16);
    b.inputs({last});
    for (int i = 0; i < kEngines; ++i) {
      ReferenceEngine spec = ReferenceEngine::affine({kSize}, 0.5F, static_cast<float>(i));
      spec.auxiliary_streams = i % 2;
      const auto next = b.tensor({kSize}, 16 + 12016 * (i % 2 + 1));
      engine(spec, {last, next});
      last = next;
    }
    b.outputs({last});
  }
  static std::vector<float> after_chain(float x) {
    for (int i = 0; i < kEngines; ++i) x = 0.5F * x + static_cast<float>(i);
    return std::vector<float>(kSize, x);
  }
  static Value all(float x) { return floats({kSize}, std::vector<float>(kSize, x)); }

  device::cuda::CudaDevice* device = nullptr;
  std::unique_ptr<CudaRunner> runner;
  std::shared_ptr<ReferenceProvider> provider;
  MethodBuilder b;
  std::deque<std::string> blobs;
};

TEST_F(EnginesOnCudaTest, AChainGivesTheSameBitsInEveryRun) {
  chain();
  const auto method = load();
  EXPECT_TRUE(method->is_fully_async());
  for (int i = 0; i < 100; ++i) {
    const auto outputs = method->execute({all(static_cast<float>(i))});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    ASSERT_EQ(to_floats(outputs->front()), after_chain(static_cast<float>(i)));
  }
  EXPECT_EQ(provider->counts().infers, kEngines);
  EXPECT_EQ(provider->counts().shapes, kEngines);
}

TEST_F(EnginesOnCudaTest, ThreadsWithStreamsOfTheirOwnShareTwoInstances) {
  chain();
  MethodOptions options;
  options.instances = 2;
  const auto method = load(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Stream own{*device->make_stream()};
      for (int i = 0; i < 25; ++i) {
        const auto x = static_cast<float>(100 * t + i);
        ExecuteOptions how;
        if (t % 2 == 0) how.stream = own.ref();
        const auto outputs = method->execute({all(x)}, how);
        ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
        ASSERT_EQ(to_floats(outputs->front()), after_chain(x));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EnginesOnCudaTest, ACacheStaysOnTheDevice) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kColumns = 64;
  const auto on_gpu = [this](std::vector<std::int64_t> sizes, std::int64_t offset,
                             ScalarType dtype = ScalarType::Float) {
    const std::int32_t value = b.tensor(std::move(sizes), offset, false, dtype);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  };
  const auto copy = [this](const std::string& direction, std::int32_t from, std::int32_t to) {
    b.kernel("et_copy::_" + direction + "_copy.out", {from, to, to});
  };
  const auto token = b.tensor({1, kColumns}, 0);
  const auto position = b.tensor({1}, 256, false, ScalarType::Long);
  const auto cache = b.tensor({kRows, kColumns}, 1024);
  const auto y = b.tensor({1, kColumns}, 512);
  const auto fresh = b.tensor({kRows, kColumns}, 20480);
  const auto d_token = on_gpu({1, kColumns}, 0);
  const auto d_position = on_gpu({1}, 256, ScalarType::Long);
  const auto d_cache = on_gpu({kRows, kColumns}, 1024);
  const auto d_y = on_gpu({1, kColumns}, 512);
  const auto d_fresh = on_gpu({kRows, kColumns}, 20480);
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
  EXPECT_EQ(method->schedule().steps.size(), 4U);  // two copies in, the engine, one copy out
  for (int round = 0; round < 2; ++round) {
    float sum = 0;
    for (std::int64_t step = 0; step < kRows; ++step) {
      Tensor at = *Tensor::empty(ScalarType::Long, std::array<std::int64_t, 1>{1});
      *at.data_as<std::int64_t>() = step;
      const auto row = static_cast<float>(step + 1);
      sum += row;
      const auto outputs = method->execute({floats({1, kColumns}, std::vector<float>(kColumns, row)), at});
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      ASSERT_EQ(to_floats(outputs->front()), std::vector<float>(kColumns, sum));
    }
    ASSERT_TRUE(method->state()->reset().ok());
  }
}

TEST_F(EnginesOnCudaTest, AMisalignedTensorOfTheCallersIsRefused) {
  const auto x = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize}, 16384);
  for (const std::int32_t value : {x, y}) {
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
  }
  b.inputs({x}).outputs({y});
  engine(ReferenceEngine::affine({kSize}, 1, 0), {x, y});
  const auto method = load();
  auto memory = std::make_shared<device::Buffer>(*device->allocate(kSize * sizeof(float) + 256));
  const auto at = [&](std::size_t offset) {
    return *Tensor::from_blob(
        memory->data() + offset, ScalarType::Float, std::array{kSize}, {}, [memory] {}, kGpu);
  };
  EXPECT_TRUE(method->execute({at(0)}).ok());
  const auto refused = method->execute({at(16)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().expected(), "a multiple of 256");
}

}  // namespace
}  // namespace tandem
