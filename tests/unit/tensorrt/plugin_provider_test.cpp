// The border to the plug-in, with plug-ins that have no library behind them.
#include "backends/tensorrt/plugin_provider.h"
#include "backends/tensorrt/refusal.h"
#include "backends/tensorrt/tensorrt_backend.h"
#include "device/host/host_device.h"

#include <tandem/backend.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tandem::tensorrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// GPUs that are the host; a stream's "handle" points to a number.
class HostAsGpu final : public GpuCalls {
 public:
  Status available() const override { return {}; }
  void* native(device::Stream& /*stream*/) const noexcept override { return &number_; }
  Result<std::unique_ptr<device::Stream>> make_stream(int /*index*/) const override {
    ++streams;
    return device::HostDevice::instance().make_stream();
  }
  mutable int streams = 0;
  mutable int entered = 0;
  mutable int last = -1;

 private:
  Status call_on_device(int index, Status (*work)(void*), void* data) const override {
    ++entered;
    last = index;
    return work(data);
  }
  mutable float number_ = 0.5F;
};

class PluginProviderTest : public ::testing::Test {
 protected:
  static std::string file(const std::string& name) { return TANDEM_TEST_PLUGINS "/" + name + ".so"; }
  std::shared_ptr<const EngineProvider> provider(const std::string& name) {
    return make_plugin_provider(file(name), gpu);
  }
  Result<std::unique_ptr<Engine>> open(const std::string& bytes) {
    return provider("good")->deserialize(std::as_bytes(std::span{bytes}), {DeviceType::Cuda, 3});
  }
  HostAsGpu gpu;
};

TEST_F(PluginProviderTest, NoPlugInSaysWhatToInstall) {
  const Status available = make_plugin_provider("libtandem_no_such_plugin.so", gpu)->available();
  ASSERT_FALSE(available.ok());
  EXPECT_EQ(available.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(available.error().message(), "TensorRT is not installed");
  EXPECT_THAT(available.error().expected(), HasSubstr("libtandem_nvinfer.so"));
  EXPECT_THAT(available.error().expected(), HasSubstr("TANDEM_TENSORRT_ROOT"));
  EXPECT_EQ(available.error().native().origin, Origin::DynamicLoader);
  EXPECT_THAT(available.error().native().text, HasSubstr("libtandem_no_such_plugin.so"));
}

TEST_F(PluginProviderTest, NoLibraryBehindThePlugInSaysSo) {
  const Status available = provider("no_library")->available();
  ASSERT_FALSE(available.ok());
  EXPECT_EQ(available.error().message(), "TensorRT is not installed");
  EXPECT_EQ(available.error().found(), "libnvinfer.so.10: no such file");
}

TEST_F(PluginProviderTest, ALibraryThatIsNoPlugInIsRefused) {
  EXPECT_THAT(provider("no_entry")->available().error().found(), HasSubstr("is no plug-in"));
}

TEST_F(PluginProviderTest, APlugInOfAnotherVersionNamesBothSides) {
  const Status available = provider("newer")->available();
  ASSERT_FALSE(available.ok());
  EXPECT_EQ(available.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(available.error().expected(), "interface 1");
  EXPECT_EQ(available.error().found(), "interface 2");
}

TEST_F(PluginProviderTest, EnginesAreDescribed) {
  const auto engine = open("engine aliased");
  ASSERT_TRUE(engine.ok()) << engine.error().to_string();
  const auto& tensors = (*engine)->tensors();
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "x");
  EXPECT_TRUE(tensors[0].is_input);
  EXPECT_EQ(tensors[0].dtype, ScalarType::Float);
  EXPECT_THAT(tensors[0].sizes, ElementsAre(-1, 4));
  EXPECT_THAT(tensors[0].least, ElementsAre(1, 4));
  EXPECT_THAT(tensors[0].most, ElementsAre(8, 4));
  EXPECT_FALSE(tensors[1].is_input);
  EXPECT_EQ(tensors[1].alias_of, 0U);
  EXPECT_EQ((*engine)->auxiliary_streams(), 2U);
  EXPECT_EQ((*engine)->streamable_bytes(), 77);
  EXPECT_EQ((*engine)->automatic_budget(), 33);
  EXPECT_TRUE((*engine)->set_weight_budget(77).ok());
  EXPECT_EQ((*engine)->set_weight_budget(78).error().native().text, "too much");
  EXPECT_EQ(gpu.last, 3);  // all of it on the method's GPU
}

TEST_F(PluginProviderTest, AContextRuns) {
  const auto engine = open("engine");
  ASSERT_TRUE(engine.ok()) << engine.error().to_string();
  const auto made = (*engine)->new_context();
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(gpu.streams, 2);  // for the library's side work
  EngineContext& context = **made;
  EXPECT_EQ(context.infer_shapes().error().native().text, "inferShapes: x");
  const std::array<std::int64_t, 2> large{9, 4};
  EXPECT_EQ(context.set_shape(0, large).error().native().text, "setInputShape: outside the profile");
  const std::array<std::int64_t, 2> sizes{2, 4};
  ASSERT_TRUE(context.set_shape(0, sizes).ok());
  ASSERT_TRUE(context.infer_shapes().ok());
  EXPECT_THAT(*context.shape_of(1), ElementsAre(2, 4));
  EXPECT_EQ(*context.scratch_bytes(), 200U);
  std::array<std::byte, 200> scratch{};
  ASSERT_TRUE(context.set_scratch(scratch).ok());
  device::Stream& stream = device::HostDevice::instance().thread_stream();
  const Status early = context.enqueue(stream);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(early.error().native().origin, Origin::TensorRt);
  EXPECT_EQ(early.error().native().text, "enqueueV3: address");
  std::array<float, 8> x{1, 2, 3, 4, 5, 6, 7, 8};
  std::array<float, 8> y{};
  ASSERT_TRUE(context.set_address(0, x.data()).ok());
  ASSERT_TRUE(context.set_address(1, y.data()).ok());
  ASSERT_TRUE(context.enqueue(stream).ok());
  EXPECT_THAT(y, ElementsAre(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5));
}

TEST_F(PluginProviderTest, WhatTheLibrarySaysOfAnEngineIsKept) {
  const auto engine = open("Serialization assertion plan.header.size == blobSize failed.");
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(engine.error().native().text, "Serialization assertion plan.header.size == blobSize failed.");
}

TEST(EngineRefusedTest, AnotherVersionNamesBothSides) {
  const Error error = engine_refused(
      "The engine plan file is not compatible with this version of TensorRT, expecting library version 10.3.0.26 got "
      "8.6.1.6, please rebuild.");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "library version 10.3.0.26");
  EXPECT_EQ(error.found(), "8.6.1.6");
  EXPECT_THAT(error.native().text, HasSubstr("please rebuild"));
}

TEST(EngineRefusedTest, AnotherComputeCapabilityNamesBothSides) {
  const Error error = engine_refused(
      "The engine plan file is generated on an incompatible device, expecting compute 9.0 got compute 8.6, please "
      "rebuild.");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "compute 9.0");
  EXPECT_EQ(error.found(), "compute 8.6");
}

TEST(EngineRefusedTest, AnotherSerializationNamesBothSides) {
  const Error error = engine_refused(
      "Error Code 1: Serialization (Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version "
      "tag "
      "does not match. Note: Current Version: 239, Serialized Engine Version: 236)");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "239");
  EXPECT_EQ(error.found(), "236");
}

TEST(EngineRefusedTest, AnythingElseIsKeptAsItIs) {
  for (const std::string text : {"", "expecting ", "expecting a got", "got what"}) {
    EXPECT_EQ(engine_refused(text).code(), ErrorCode::BackendFailed) << text;
    EXPECT_EQ(engine_refused(text).native().text, text);
  }
}

TEST(BuiltinBackendTest, TensorRTIsRegisteredAndSaysWhatIsMissing) {
  const auto backend = BackendRegistry::global().find("TensorRTBackend");
  ASSERT_NE(backend, nullptr);
  const Status available = backend->available();
  if (available.ok()) GTEST_SKIP() << "TensorRT and a GPU are there";
  EXPECT_EQ(available.error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::tensorrt
