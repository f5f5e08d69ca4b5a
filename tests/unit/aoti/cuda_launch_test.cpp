// Attributes of launches: which of them the driver gets, and when.
#include "cuda_call.h"
#include "cuda_model.h"
#include "support/aoti_library/fake_kernel.h"
#include "support/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace tandem::aoti {
namespace {

using testing::DelegateRunner;
using ::testing::ElementsAre;
using testing::FakeCuda;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Attributes = std::vector<CUlaunchAttributeID>;

constexpr auto kOverlap = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;

// ----------------------------------------------------------------------------------------------- the shims alone

using LaunchEx = CUresult(const CUlaunchConfig*, CUfunction, void**, void**);
using LaunchPlain = CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void**, void**);

CUlaunchAttribute attribute(CUlaunchAttributeID id, int value = 1) {
  CUlaunchAttribute made{};
  made.id = id;
  if (id == kOverlap) made.value.programmaticStreamSerializationAllowed = value;
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) made.value.cooperative = value;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) made.value.priority = value;
  return made;
}

class CudaLaunch : public ::testing::Test {
 protected:
  void SetUp() override { fake_.reset(); }
  CUresult launch(std::vector<CUlaunchAttribute> attributes, CUstream stream = nullptr) {
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    return shim<LaunchEx>("cuLaunchKernelEx")(&config, function(), nullptr, nullptr);
  }
  CUresult launch_plain() {
    return shim<LaunchPlain>("cuLaunchKernel")(function(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  }
  static CUfunction function() {
    static fake_kernel::Kernel kernel{.name = "nothing"};
    return reinterpret_cast<CUfunction>(&kernel);
  }
  [[nodiscard]] std::vector<Attributes> launched() const {
    std::vector<Attributes> all;
    for (const FakeCuda::Launch& launch : fake_.launches) all.push_back(launch.attributes);
    return all;
  }

  FakeCuda& fake_ = FakeCuda::instance();
};

TEST_F(CudaLaunch, FirstOfARunLosesProgrammaticSerializationAndLaterOnesKeepIt) {
  InCall call{FakeCuda::functions()};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_THAT(launched(), ElementsAre(Attributes{}, Attributes{kOverlap}, Attributes{kOverlap}));
}

TEST_F(CudaLaunch, AttributesBesideItStay) {
  InCall call{FakeCuda::functions()};
  const auto priority = attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  const auto domain = attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
  EXPECT_EQ(launch({priority, attribute(kOverlap), domain, attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_THAT(launched(), ElementsAre(Attributes{priority.id, domain.id}));
}

TEST_F(CudaLaunch, BehindAPlainLaunchOfTheSameRunItStays) {
  InCall call{FakeCuda::functions()};
  EXPECT_EQ(launch_plain(), CUDA_SUCCESS);
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_THAT(launched(), ElementsAre(Attributes{}, Attributes{kOverlap}));
}

TEST_F(CudaLaunch, BehindACopyOrAFillItIsStillTheFirst) {
  InCall call{FakeCuda::functions()};
  std::byte* data = call.device().allocate(16);
  EXPECT_EQ(shim<int(void*, int, std::size_t, cudaStream_t)>("cudaMemsetAsync")(data, 1, 8, nullptr), 0);
  EXPECT_EQ((shim<int(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t)>("cudaMemcpyAsync")(
                data + 8, data, 8, cudaMemcpyDeviceToDevice, nullptr)),
            0);
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_THAT(launched(), ElementsAre(IsEmpty()));
}

TEST_F(CudaLaunch, EachEntryIntoTheLibraryHasAFirst) {
  InCall call{FakeCuda::functions()};
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  const DeviceCalls again{call.device()};
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_SUCCESS);
  EXPECT_THAT(launched(), ElementsAre(Attributes{}, Attributes{kOverlap}, Attributes{}));
}

TEST_F(CudaLaunch, AttributesWithoutAnEffectAreNone) {
  InCall call{FakeCuda::functions()};
  EXPECT_EQ(launch_plain(), CUDA_SUCCESS);
  CountingRecorder recorder;
  call.device().set_mode(AotiDevice::Mode::Record, &recorder);
  EXPECT_EQ(launch({attribute(kOverlap, 0), attribute(CU_LAUNCH_ATTRIBUTE_IGNORE),
                    attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0)}),
            CUDA_SUCCESS);
  EXPECT_EQ(recorder.functions.size(), 1U);
  EXPECT_EQ(launch({attribute(kOverlap)}), CUDA_ERROR_NOT_SUPPORTED) << "a plain node would lack the overlap";
  EXPECT_EQ(launch({attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(recorder.functions.size(), 1U);
  EXPECT_THAT(call.state().refusal, HasSubstr("recorded"));
  EXPECT_EQ(call.state().refusal_code, ErrorCode::NotSupported);
}

TEST_F(CudaLaunch, TheCallersAttributesAreNotChanged) {
  InCall call{FakeCuda::functions()};
  std::array attributes{attribute(kOverlap)};
  CUlaunchConfig config{};
  config.attrs = attributes.data();
  config.numAttrs = 1;
  EXPECT_EQ(shim<LaunchEx>("cuLaunchKernelEx")(&config, function(), nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(attributes[0].id, kOverlap);
  EXPECT_EQ(attributes[0].value.programmaticStreamSerializationAllowed, 1);
  EXPECT_EQ(config.numAttrs, 1U);
}

TEST_F(CudaLaunch, MoreAttributesThanThereAreAreRefused) {
  InCall call{FakeCuda::functions()};
  EXPECT_EQ(launch(std::vector<CUlaunchAttribute>(33)), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(call.state().refusal, HasSubstr("33 attributes"));
  CUlaunchConfig config{};
  config.numAttrs = 1;
  EXPECT_EQ(shim<LaunchEx>("cuLaunchKernelEx")(&config, function(), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shim<LaunchEx>("cuLaunchKernelEx")(nullptr, function(), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(launched(), IsEmpty());
}

/// Nothing orders the calling thread's own stream with the run's.
TEST_F(CudaLaunch, StreamsOfCudasOwnBecomeTheRuns) {
  InCall call{FakeCuda::functions()};
  for (const CUstream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, CUstream{}}) {
    EXPECT_EQ(launch({attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY)}, stream), CUDA_SUCCESS);
    EXPECT_EQ(launch({}, stream), CUDA_SUCCESS);
  }
  EXPECT_THAT(fake_.streams, ElementsAre(call.device().gpu().stream()));
}

// ------------------------------------------------------------------------------------------------ whole delegates

class CudaOverlap : public Cuda {
 protected:
  static CudaModel model(const std::string& library) {
    CudaModel made{library};
    made.tensor({4}).tensor({4});
    if (library == "cuda_overlapping") made.tensor({4});
    for (int i = 0; i < 4; ++i) made.argument(0).floats()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    return made;
  }
  void expect_overlaps(const std::vector<std::string>& kernels) const {
    std::vector<std::string> found;
    for (const FakeCuda::Launch& launch : fake_.launches) {
      if (!launch.attributes.empty()) found.push_back(launch.kernel);
    }
    EXPECT_EQ(found, kernels);
  }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().to_string(); }
};

TEST_F(CudaOverlap, IsKeptInsideADelegateAndLostAtItsStart) {
  CudaModel made = model("cuda_overlapping");
  DelegateRunner& runner = made.runner();
  expect_overlaps({"last", "aside"});  // of the load's run
  for (int i = 0; i < 3; ++i) {
    fake_.reset();
    expect_ok(runner.run());
    expect_overlaps({"last", "aside"});
    EXPECT_THAT(made.argument(1).floats(), ElementsAre(7, 15, 23, 31));
    EXPECT_THAT(made.argument(2).floats(), ElementsAre(1, 2, 3, 4));
  }
}

TEST_F(CudaOverlap, LaunchThatLostItIsRecordedAsAPlainKernel) {
  CudaModel made = model("cuda_overlapping_once");
  DelegateRunner& runner = made.runner();
  expect_ok(runner.run());
  CountingRecorder recorder;
  expect_ok(runner.record(recorder));
  EXPECT_EQ(recorder.functions.size(), 1U);
  expect_overlaps({});
}

TEST_F(CudaOverlap, LaunchesThatKeepItAreNotRecorded) {
  CudaModel made = model("cuda_overlapping");
  DelegateRunner& runner = made.runner();
  expect_ok(runner.run());
  fake_.reset();
  CountingRecorder recorder;
  const Status recorded = runner.record(recorder);
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(fake_.launches, IsEmpty());
}

/// A node of a captured graph waits for what its edges name; behind a kernel that overtook another that is not enough.
TEST_F(CudaOverlap, ResultThatIsCopiedAfterItIsNotCaptured) {
  CudaModel made = model("cuda_overlapping");
  DelegateRunner& runner = made.runner();
  expect_ok(runner.run());
  CountingRecorder recorder;
  const Status captured = runner.record(recorder, /*is_captured=*/true);
  ASSERT_FALSE(captured.ok());
  EXPECT_EQ(captured.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(captured.error().message(), HasSubstr("programmatic stream serialization"));
  expect_ok(runner.run());
}

}  // namespace
}  // namespace tandem::aoti
