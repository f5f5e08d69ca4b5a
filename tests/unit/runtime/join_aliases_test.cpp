// Outputs that are inputs, updated in place: what becomes one value, which copies go, and what stays as it is.
#include "support/method_builder.h"
#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using runtime::Step;
using ::testing::ElementsAre;
using testing::floats;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = 4;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

/// Delegates (x, cache) -> (y, cache'): cache += x in place, y = cache. Where cache' is elsewhere, it is copied there.
class CacheBackend final : public Backend {
 public:
  explicit CacheBackend(SimulatedGpu* gpu, AccessMode mode = AccessMode::Update) : gpu_{gpu}, mode_{mode} {}

  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                            const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new CacheDelegate{*this}};
  }

 private:
  class CacheContext final : public DelegateContext {
   public:
    explicit CacheContext(SimulatedGpu* gpu) : gpu_{gpu} {}
    Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override { return BoundLayout{}; }
    Status enqueue(EnqueueArgs& args) override {
      std::vector<float*> at;
      for (const Argument* argument : args.arguments) at.push_back(static_cast<float*>(argument->tensor.data));
      for (OutputResult& result : args.outputs) result = {};
      const auto kernel = [at] {
        for (std::int64_t i = 0; i < kSize; ++i) at[2][i] = at[1][i] += at[0][i];
      };
      if (gpu_ == nullptr) {
        kernel();
      } else {
        TANDEM_CHECK_OK(SimulatedGpu::launch(args.stream, kernel));
      }
      return at[3] == at[1] ? Status{} : args.stream.get().copy(at[3], at[1], kSize * sizeof(float));
    }

   private:
    SimulatedGpu* gpu_;
  };
  class CacheDelegate final : public Delegate {
   public:
    explicit CacheDelegate(const CacheBackend& backend) : backend_{backend} {}
    DelegateCapabilities capabilities() const override {
      DelegateCapabilities capabilities;
      capabilities.runs_on_host = backend_.gpu_ == nullptr;
      return capabilities;
    }
    std::size_t output_count() const override { return 2; }
    std::vector<AccessMode> accesses(std::size_t /*count*/) const override {
      return {AccessMode::Read, backend_.mode_, AccessMode::Write, AccessMode::Write};
    }
    std::vector<AliasedOutput> aliased_outputs() const override { return {{1, 1}}; }
    Result<std::unique_ptr<DelegateContext>> new_context() const override {
      return std::unique_ptr<DelegateContext>{new CacheContext{backend_.gpu_}};
    }

   private:
    const CacheBackend& backend_;
  };

  SimulatedGpu* gpu_;
  AccessMode mode_;
};

/// Both the host and a GPU, as the delegate's device.
class JoinAliasesTest : public ::testing::TestWithParam<bool> {
 protected:
  JoinAliasesTest() {
    EXPECT_TRUE(b.backends.register_backend("Cache", std::make_shared<CacheBackend>(on_gpu() ? &gpu : nullptr)).ok());
  }
  static bool on_gpu() { return GetParam(); }
  std::int32_t on_device(std::int64_t offset) {
    const std::int32_t value = b.tensor({kSize}, offset);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  void copy(const std::string& direction, std::int32_t from, std::int32_t to) {
    b.kernel("et_copy::_" + direction + "_copy.out", {from, to, to});
  }
  void copy_into(std::int32_t to, std::int32_t from) { b.kernel("aten::copy_", {to, from, b.flag(false), to}); }

  /// What exporters write: the cache is the host's, goes to the device and comes back.
  std::int32_t exported(std::int32_t cache, std::int32_t x, std::int32_t y) {
    const auto dx = on_device(0);
    const auto dcache = on_device(64);
    const auto dy = on_device(128);
    const auto dnew = on_device(192);
    const auto fresh = b.tensor({kSize}, 256);
    copy("h2d", x, dx);
    copy("h2d", cache, dcache);
    b.delegate("Cache", {dx, dcache, dy, dnew});
    copy("d2h", dy, y);
    copy("d2h", dnew, fresh);
    copy_into(cache, fresh);
    return fresh;
  }
  void load(std::uint32_t instances = 1) {
    MethodOptions options;
    options.device = on_gpu() ? kGpu : DeviceId{};
    options.instances = instances;
    method = std::make_unique<TestMethod>(b, on_gpu() ? static_cast<device::Device&>(gpu) : seeded, options);
    ASSERT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
  }
  std::vector<std::vector<float>> run(float x) const {
    const auto outputs = method->execute({floats({kSize}, std::vector<float>(kSize, x))});
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    std::vector<std::vector<float>> all;
    for (const Value& output : *outputs) all.push_back(to_floats(output));
    return all;
  }
  static std::vector<float> all_of(float number) { return std::vector<float>(kSize, number); }
  /// Steps that move bytes.
  std::size_t copies() const {
    const runtime::Schedule& schedule = method->schedule();
    return static_cast<std::size_t>(std::ranges::count_if(schedule.steps, [&](const Step& step) {
      return step.kind == Step::Kind::Copy || (step.kind == Step::Kind::Kernel &&
                                               schedule.operators[step.target]->name.find("copy") != std::string::npos);
    }));
  }

  SimulatedGpu gpu{3};
  device::SeededHost seeded{3};
  MethodBuilder b;
  std::unique_ptr<TestMethod> method;
};

INSTANTIATE_TEST_SUITE_P(On, JoinAliasesTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Gpu" : "Host"; });

TEST_P(JoinAliasesTest, AnExportedCacheIsMovedByNobody) {
  const auto cache = b.state({kSize}, 320, {10, 10, 10, 10});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  b.inputs({x}).outputs({y});
  exported(cache, x, y);
  load();
  EXPECT_EQ(copies(), 2U);  // x and y
  EXPECT_EQ(method->schedule().states.size(), 1U);
  if (on_gpu()) {
    EXPECT_EQ(method->schedule().values[static_cast<std::size_t>(cache)].device, kGpu);
  }
  for (int i = 1; i <= 4; ++i) {
    gpu.reset_counts();
    EXPECT_THAT(run(1), ElementsAre(all_of(10 + static_cast<float>(i))));
    if (on_gpu()) {
      EXPECT_EQ(gpu.counts().copied_bytes, 2 * kSize * sizeof(float));
    }
  }
  ASSERT_TRUE(method->state()->reset().ok());
  EXPECT_THAT(run(1), ElementsAre(all_of(11)));
}

TEST_P(JoinAliasesTest, ACacheThatIsPassedDirectlyIsMovedByNobody) {
  const auto cache = b.tensor({kSize}, 320);
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto fresh = b.tensor({kSize}, 512);
  b.inputs({x}).outputs({y}).delegate("Cache", {x, cache, y, fresh});
  copy_into(cache, fresh);
  load();
  EXPECT_EQ(copies(), on_gpu() ? 2U : 0U);
  EXPECT_THAT(run(2), ElementsAre(all_of(2)));
  EXPECT_THAT(run(3), ElementsAre(all_of(5)));
}

TEST_P(JoinAliasesTest, TwoDelegatesOnOneCache) {
  const auto cache = b.state({kSize}, 320, {0, 0, 0, 0});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto dcache = on_device(0);
  const auto between = on_device(64);
  const auto dy = on_device(128);
  const auto dnew = on_device(192);
  const auto fresh = b.tensor({kSize}, 256);
  const auto dx = on_device(512);
  b.inputs({x}).outputs({y});
  copy("h2d", x, dx);
  copy("h2d", cache, dcache);
  b.delegate("Cache", {dx, dcache, dy, between});
  b.delegate("Cache", {dx, between, dy, dnew});
  copy("d2h", dy, y);
  copy("d2h", dnew, fresh);
  copy_into(cache, fresh);
  load();
  EXPECT_EQ(copies(), 2U);
  EXPECT_THAT(run(1), ElementsAre(all_of(2)));
  EXPECT_THAT(run(1), ElementsAre(all_of(4)));
}

TEST_P(JoinAliasesTest, ACacheThatIsAlsoAnOutputIsCopiedForTheCallerOnly) {
  const auto cache = b.state({kSize}, 320, {0, 0, 0, 0});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  b.inputs({x});
  const auto fresh = exported(cache, x, y);
  b.outputs({y, fresh});
  load();
  EXPECT_EQ(copies(), 3U);
  EXPECT_THAT(run(1), ElementsAre(all_of(1), all_of(1)));
  EXPECT_THAT(run(2), ElementsAre(all_of(3), all_of(3)));
}

TEST_P(JoinAliasesTest, ACacheOfTheCallersIsLeftAlone) {
  const auto x = b.tensor({kSize}, 384);
  const auto cache = b.tensor({kSize}, 320);
  const auto y = b.tensor({kSize}, 448);
  const auto fresh = b.tensor({kSize}, 512);
  b.inputs({x, cache}).outputs({y, fresh}).delegate("Cache", {x, cache, y, fresh});
  load();
  const Value mine = floats({kSize}, all_of(4));
  for (int i = 0; i < 2; ++i) {
    const auto outputs = method->execute({floats({kSize}, all_of(1)), mine});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(to_floats(outputs->at(1)), all_of(5));
    EXPECT_EQ(to_floats(mine), all_of(4));
  }
}

TEST_P(JoinAliasesTest, ABufferThatBecomesSomethingElseKeepsThat) {
  const auto cache = b.state({kSize}, 320, {1, 1, 1, 1});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto dx = on_device(0);
  const auto dcache = on_device(64);
  const auto dy = on_device(128);
  const auto dnew = on_device(192);
  const auto after = b.tensor({kSize}, 256);
  b.inputs({x}).outputs({y, after});
  copy("h2d", x, dx);
  copy("h2d", cache, dcache);
  b.delegate("Cache", {dx, dcache, dy, dnew});
  copy("d2h", dy, y);
  copy_into(cache, x);  // something else than what the delegate made of it
  b.kernel("aten::relu.out", {cache, after, after});
  load();
  EXPECT_THAT(run(2), ElementsAre(all_of(3), all_of(2)));
  EXPECT_THAT(run(5), ElementsAre(all_of(7), all_of(5)));
}

TEST_P(JoinAliasesTest, AReaderOfTheOldContentsStillFindsThem) {
  // y = cache' - cache, where the old cache is read after the delegate ran.
  const auto cache = b.state({kSize}, 320, {5, 5, 5, 5});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto old = b.tensor({kSize}, 512);
  const auto dx = on_device(0);
  const auto dcache = on_device(64);
  const auto dy = on_device(128);
  const auto dnew = on_device(192);
  const auto fresh = b.tensor({kSize}, 256);
  b.inputs({x}).outputs({y, old});
  copy("h2d", x, dx);
  copy("h2d", cache, dcache);
  b.delegate("Cache", {dx, dcache, dy, dnew});
  b.kernel("aten::relu.out", {cache, old, old});
  copy("d2h", dy, y);
  copy("d2h", dnew, fresh);
  copy_into(cache, fresh);
  load();
  EXPECT_THAT(run(1), ElementsAre(all_of(6), all_of(5)));
  EXPECT_THAT(run(1), ElementsAre(all_of(7), all_of(6)));
}

TEST_P(JoinAliasesTest, WhatWasUpdatedReadsAsUpdated) {
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto a = b.tensor({kSize}, 0);
  const auto fresh = b.tensor({kSize}, 64);
  const auto sum = b.tensor({kSize}, 128);
  const auto one = b.number(1);
  b.inputs({x}).outputs({y, sum});
  b.kernel("aten::relu.out", {x, a, a});
  b.delegate("Cache", {x, a, y, fresh});
  b.kernel("aten::add.out", {fresh, a, one, sum, sum});
  load();
  EXPECT_THAT(run(1), ElementsAre(all_of(2), all_of(4)));
}

TEST_P(JoinAliasesTest, TheOneValueOutlivesThePlaceThatTheProgramGaveIt) {
  // The program takes the input's bytes for another value while the output is still to be read.
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  const auto a = b.tensor({kSize}, 0);
  const auto fresh = b.tensor({kSize}, 64);
  const auto other = b.tensor({kSize}, 0);
  const auto one = b.number(1);
  const auto z = b.tensor({kSize}, 512);
  b.inputs({x}).outputs({y, z});
  b.kernel("aten::relu.out", {x, a, a});
  b.delegate("Cache", {x, a, y, fresh});
  b.kernel("aten::neg.out", {x, other, other});
  b.kernel("aten::add.out", {fresh, other, one, z, z});
  load();
  EXPECT_THAT(run(3), ElementsAre(all_of(6), all_of(3)));
}

TEST_P(JoinAliasesTest, InstancesShareTheState) {
  const auto cache = b.state({kSize}, 320, {0, 0, 0, 0});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  b.inputs({x}).outputs({y});
  exported(cache, x, y);
  load(2);
  for (int i = 1; i <= 6; ++i) EXPECT_THAT(run(1), ElementsAre(all_of(static_cast<float>(i))));
  const auto other = method->new_state();
  ExecuteOptions options;
  options.state = other;
  const auto outputs = method->execute({floats({kSize}, all_of(7))}, options);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(to_floats(outputs->front()), all_of(7));
}

TEST_P(JoinAliasesTest, WhatMethodsShareStaysTheHosts) {
  const auto cache = b.state({kSize}, 320, {0, 0, 0, 0}, 2);
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  b.inputs({x}).outputs({y});
  exported(cache, x, y);
  load();
  ASSERT_EQ(method->schedule().states.size(), 1U);
  EXPECT_TRUE(method->schedule().states.front().shared);
  EXPECT_THAT(run(1), ElementsAre(all_of(1)));
  EXPECT_THAT(run(1), ElementsAre(all_of(2)));
}

/// `a` changes between two copies of a view of it that no step makes.
TEST_P(JoinAliasesTest, ACopyOfAViewIsOneOfItsSource) {
  const auto x = b.tensor({kSize});
  const auto a = b.tensor({kSize}, 64);
  const auto view = b.tensor({kSize}, 64);
  const auto s = b.tensor({kSize}, 0);
  const auto new_s = b.tensor({kSize}, 128);
  const auto t = b.tensor({kSize}, 256);
  const auto new_t = b.tensor({kSize}, 320);
  const auto u = b.tensor({kSize}, 384);
  const auto new_u = b.tensor({kSize}, 448);
  const auto y = b.tensor({kSize}, 512);
  const auto z = b.tensor({kSize}, 576);
  const auto w = b.tensor({kSize}, 640);
  b.inputs({x}).outputs({y, z, w});
  b.delegate("Cache", {x, t, a, new_t});
  copy_into(s, view);
  b.delegate("Cache", {s, u, y, new_u}).delegate("Cache", {x, t, a, new_t});
  copy_into(s, view);
  b.delegate("Cache", {s, u, z, new_u}).delegate("Cache", {x, s, w, new_s});
  load();
  EXPECT_EQ(run(1), (std::vector{all_of(1), all_of(3), all_of(3)}));
  EXPECT_EQ(run(1), (std::vector{all_of(6), all_of(10), all_of(5)}));
}

TEST_P(JoinAliasesTest, BehindAJumpNothingIsJoined) {
  const auto cache = b.state({kSize}, 320, {0, 0, 0, 0});
  const auto x = b.tensor({kSize}, 384);
  const auto y = b.tensor({kSize}, 448);
  b.inputs({x}).outputs({y});
  b.jump_if_false(b.flag(true), 1);
  exported(cache, x, y);
  load();
  EXPECT_THAT(run(1), ElementsAre(all_of(1)));
  EXPECT_THAT(run(1), ElementsAre(all_of(2)));
}

TEST(AliasDeclarationTest, AnAliasOfAnInputThatIsNotUpdatedIsRefused) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("Cache", std::make_shared<CacheBackend>(nullptr, AccessMode::Read)).ok());
  const auto x = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize}, 64);
  const auto z = b.tensor({kSize}, 128);
  b.inputs({x}).outputs({y, z}).delegate("Cache", {x, x, y, z});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(lowered.error().site().argument, 3);
}

/// A delegate whose tensors must be aligned.
class AlignedBackend final : public Backend {
 public:
  explicit AlignedBackend(std::uint32_t alignment) : alignment_{alignment} {}
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                            const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new AlignedDelegate{alignment_}};
  }

 private:
  class AlignedDelegate final : public Delegate {
   public:
    explicit AlignedDelegate(std::uint32_t alignment) : alignment_{alignment} {}
    DelegateCapabilities capabilities() const override {
      DelegateCapabilities capabilities;
      capabilities.alignment = alignment_;
      return capabilities;
    }
    std::size_t output_count() const override { return 1; }
    Result<std::unique_ptr<DelegateContext>> new_context() const override {
      return Error{ErrorCode::NotSupported, "never run"};
    }

   private:
    std::uint32_t alignment_;
  };
  std::uint32_t alignment_;
};

TEST(AlignmentTest, ValuesOfDelegatesThatAskForItAreAligned) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("A", std::make_shared<AlignedBackend>(256)).ok());
  const auto x = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize}, 16);
  std::int32_t last = x;
  std::vector<std::int32_t> between;
  for (std::int64_t i = 0; i < 5; ++i) {
    between.push_back(i == 2 ? b.tensor({kSize}) : b.tensor({kSize}, 16 * (i + 2)));
    b.delegate("A", {last, between.back()});
    last = between.back();
  }
  b.inputs({x}).outputs({y}).delegate("A", {last, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  for (const std::int32_t value : between) {
    EXPECT_EQ((*lowered)->values[static_cast<std::size_t>(value)].place.offset % 256, 0U) << value;
  }
}

TEST(AlignmentTest, AnAlignmentThatIsNoPowerOfTwoIsRefused) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("A", std::make_shared<AlignedBackend>(48)).ok());
  const auto x = b.tensor({kSize}, 0);
  const auto y = b.tensor({kSize}, 64);
  b.inputs({x}).outputs({y}).delegate("A", {x, y});
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::BackendFailed);
}

}  // namespace
}  // namespace tandem
