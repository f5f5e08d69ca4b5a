// What only CUDA has. Skips where there is no GPU; TANDEM_REQUIRE_DEVICES=cuda makes that a failure.
#include <tandem/cuda.h>

#include "device/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem::device::cuda {
namespace {

#define TANDEM_TEXT_OF(name) #name
/// A function of the driver, which nothing links.
#define TANDEM_DRIVER(name) driver_function<decltype(&name)>(TANDEM_TEXT_OF(name))

template <class Function>
Function driver_function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The last: what goes to device 0 by accident fails.
    const auto found = find_device(std::max(device_count() - 1, 0));
    if (found.ok()) {
      device_ = *found;
      return;
    }
    const char* required = std::getenv("TANDEM_REQUIRE_DEVICES");
    ASSERT_FALSE(required != nullptr && std::string{required}.find("cuda") != std::string::npos)
        << found.error().to_string();
    GTEST_SKIP() << found.error().to_string();
  }

  CudaDevice& device() { return *device_; }
  int index() { return device().id().index; }
  std::unique_ptr<CudaStream> make_stream() {
    return std::unique_ptr<CudaStream>{static_cast<CudaStream*>(device().make_stream()->release())};
  }
  /// Fills 64 bytes on a stream; whether they arrive.
  bool works(Stream& stream, std::uint8_t value = 5) {
    const auto buffer = device().allocate(64);
    std::vector<std::byte> bytes(64);
    return buffer.ok() && stream.fill(buffer->data(), std::byte{value}, 64).ok() &&
           stream.download(bytes.data(), buffer->data(), 64).ok() && stream.synchronize().ok() &&
           bytes == std::vector<std::byte>(64, std::byte{value});
  }

 private:
  CudaDevice* device_ = nullptr;
};

TEST_F(CudaTest, NothingBecomesCurrentAndDeviceZeroIsLeftAlone) {
  if (index() == 0) GTEST_SKIP() << "one GPU only";
  const auto state = TANDEM_DRIVER(cuDevicePrimaryCtxGetState);
  unsigned flags = 0;
  int was_active = 0;
  ASSERT_EQ(state(0, &flags, &was_active), CUDA_SUCCESS);
  std::thread{[this] {
    EXPECT_TRUE(works(device().thread_stream()));
    EXPECT_TRUE(works(*make_stream()));
    CUcontext current = nullptr;
    EXPECT_EQ(TANDEM_DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
  }}.join();
  int is_active = 0;
  ASSERT_EQ(state(0, &flags, &is_active), CUDA_SUCCESS);
  EXPECT_EQ(is_active, was_active);
}

TEST_F(CudaTest, MemoryIsOnItsDevice) {
  for (int i = 0; i < device_count(); ++i) {
    const auto buffer = (*find_device(i))->allocate(64);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(*owner_of(buffer->data()), (DeviceId{DeviceType::Cuda, static_cast<std::int16_t>(i)}));
  }
}

TEST_F(CudaTest, StreamsOfTwoDevicesWaitForEachOther) {
  if (index() == 0) GTEST_SKIP() << "one GPU only";
  const auto there = *(*find_device(0))->make_stream();
  const auto here = make_stream();
  for (int round = 0; round < 10; ++round) {
    const auto first = *there->make_event();
    const auto second = *here->make_event();
    ASSERT_TRUE(there->record(*first.impl()).ok());
    ASSERT_TRUE(here->wait(*first.impl()).ok());
    ASSERT_TRUE(here->record(*second.impl()).ok());
    ASSERT_TRUE(there->wait(*second.impl()).ok());
  }
  EXPECT_TRUE(there->synchronize().ok());
}

TEST_F(CudaTest, UploadsBlockUntilTheBytesAreThere) {
  const std::vector<std::byte> sent(std::size_t{9} << 20, std::byte{6});
  const auto buffer = device().allocate(sent.size());
  ASSERT_TRUE(buffer.ok());
  ASSERT_TRUE(upload(index(), buffer->data(), sent).ok());
  std::vector<std::byte> received(sent.size());
  ASSERT_TRUE(make_stream()->download(received.data(), buffer->data(), received.size()).ok());
  EXPECT_EQ(received, sent);
}

class CudaCaptureTest : public CudaTest {
 protected:
  /// Runs a graph once, and waits.
  void launch(const Graph& graph) {
    const DeviceScope scope{index()};
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph.handle(), 0), cudaSuccess);
    const auto stream = make_stream();
    EXPECT_EQ(cudaGraphLaunch(executable, native(*stream)), cudaSuccess);
    EXPECT_TRUE(stream->synchronize().ok());
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  }
};

TEST_F(CudaCaptureTest, WhatIsEnqueuedRunsWithTheGraph) {
  const auto buffer = device().allocate(64);
  const auto stream = make_stream();
  ASSERT_TRUE(stream->fill(buffer->data(), std::byte{1}, 64).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  auto scope = CaptureScope::begin(*stream);
  ASSERT_TRUE(scope.ok());
  ASSERT_TRUE(stream->fill(buffer->data(), std::byte{2}, 64).ok());
  const auto graph = scope->finish();
  ASSERT_TRUE(graph.ok());
  std::vector<std::byte> bytes(64);
  ASSERT_TRUE(stream->download(bytes.data(), buffer->data(), 64).ok());
  EXPECT_THAT(bytes, ::testing::Each(std::byte{1})) << "nothing has run";
  launch(*graph);
  ASSERT_TRUE(stream->download(bytes.data(), buffer->data(), 64).ok());
  EXPECT_THAT(bytes, ::testing::Each(std::byte{2}));
}

TEST_F(CudaCaptureTest, AnAbandonedOneLeavesTheStreamAsItWas) {
  const auto buffer = device().allocate(64);
  const auto stream = make_stream();
  {
    const auto scope = CaptureScope::begin(*stream);
    ASSERT_TRUE(scope.ok());
    ASSERT_TRUE(stream->fill(buffer->data(), std::byte{2}, 64).ok());
  }
  EXPECT_EQ(*stream->capture_status(), gpu::CaptureStatus::None);
  EXPECT_TRUE(works(*stream));
}

TEST_F(CudaCaptureTest, ABrokenOneFailsAndLeavesTheStreamAsItWas) {
  const auto stream = make_stream();
  auto scope = CaptureScope::begin(*stream);
  ASSERT_TRUE(scope.ok());
  EXPECT_EQ(stream->synchronize().error().code(), ErrorCode::InvalidState);  // breaks it
  const auto graph = scope->finish();
  EXPECT_EQ(graph.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(graph.error().native().code, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(*stream->capture_status(), gpu::CaptureStatus::None);
  EXPECT_TRUE(works(*stream));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(CudaCaptureTest, StagedCopiesAreRefusedMeanwhile) {
  const auto buffer = device().allocate(64);
  const auto stream = make_stream();
  auto scope = CaptureScope::begin(*stream);
  std::vector<std::byte> bytes(64);
  EXPECT_EQ(stream->upload(buffer->data(), bytes.data(), 64).error().code(), ErrorCode::InvalidState);
  EXPECT_TRUE(scope->finish().ok()) << "a refusal breaks nothing";
}

TEST_F(CudaCaptureTest, OtherThreadsAllocateAndCopyMeanwhile) {
  const auto stream = make_stream();
  auto scope = CaptureScope::begin(*stream);
  std::thread{[this] {
    EXPECT_TRUE(works(*make_stream()));
    EXPECT_TRUE(works(device().thread_stream()));
  }}.join();
  EXPECT_TRUE(scope->finish().ok());
}

TEST_F(CudaCaptureTest, ANeighboursGlobalCaptureSurvivesUs) {
  const auto stream = make_stream();
  const DeviceScope scope{index()};
  ASSERT_EQ(cudaStreamBeginCapture(native(*stream), cudaStreamCaptureModeGlobal), cudaSuccess);
  std::thread{[this] {
    EXPECT_TRUE(works(*make_stream()));
    EXPECT_TRUE(device().allocate_staging(64).ok());
  }}.join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(native(*stream), &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

class CudaHandlesTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaSetDevice(index()), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }
  cudaStream_t stream_ = nullptr;
};

TEST_F(CudaHandlesTest, AStreamOfTheCallersIsBorrowed) {
  {
    const auto stream = tandem::cuda::borrow_stream(stream_);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(stream->ref().device(), device().id());
    EXPECT_EQ(*tandem::cuda::native_stream(*stream), stream_);
    EXPECT_EQ(stream->ref().get().id(), tandem::cuda::borrow_stream(stream_)->ref().get().id());
    EXPECT_NE(stream->ref().get().id(), make_stream()->id());
    EXPECT_TRUE(works(stream->ref().get()));
  }
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess) << "it is still the caller's";
}

TEST_F(CudaHandlesTest, AStreamIsItsDevicesWhateverIsCurrent) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto stream = tandem::cuda::borrow_stream(stream_);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->ref().device(), device().id());
  EXPECT_TRUE(works(stream->ref().get()));
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

TEST_F(CudaHandlesTest, AThreadWithoutADeviceBorrowsAndAsks) {
  const auto buffer = device().allocate(64);
  std::thread{[this, &buffer] {
    const auto stream = tandem::cuda::borrow_stream(stream_);
    ASSERT_TRUE(stream.ok()) << stream.error().to_string();
    EXPECT_TRUE(works(stream->ref().get()));
    EXPECT_EQ(*owner_of(buffer->data()), device().id());
    CUcontext current = nullptr;
    EXPECT_EQ(TANDEM_DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
  }}.join();
}

TEST_F(CudaHandlesTest, TheLegacyStreamIsRefused) {
  for (cudaStream_t legacy : {cudaStream_t{nullptr}, cudaStreamLegacy}) {
    EXPECT_EQ(tandem::cuda::borrow_stream(legacy).error().code(), ErrorCode::InvalidArgument);
  }
}

TEST_F(CudaHandlesTest, ThePerThreadHandleIsTheThreadsStream) {
  const auto stream = tandem::cuda::borrow_stream(cudaStreamPerThread);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->ref().get().id(), device().thread_stream().id());
  EXPECT_TRUE(works(stream->ref().get()));
}

TEST_F(CudaHandlesTest, AHandleThatComesBackIsAnotherStream) {
  const StreamId before = tandem::cuda::borrow_stream(stream_)->ref().get().id();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_NE(tandem::cuda::borrow_stream(stream_)->ref().get().id(), before);
  }
}

TEST_F(CudaHandlesTest, EventsGoInAndOut) {
  const auto stream = tandem::cuda::borrow_stream(stream_);
  const auto ours = stream->record();
  ASSERT_TRUE(ours.ok());
  EXPECT_EQ(cudaStreamWaitEvent(cudaStreamPerThread, *tandem::cuda::native_event(*ours), 0), cudaSuccess);

  cudaEvent_t theirs = nullptr;
  ASSERT_EQ(cudaEventCreate(&theirs), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(theirs, cudaStreamPerThread), cudaSuccess);
  {
    const auto event = tandem::cuda::borrow_event(theirs, index());
    ASSERT_TRUE(event.ok());
    EXPECT_TRUE(stream->wait(*event).ok());
    EXPECT_TRUE(event->synchronize().ok());
    EXPECT_TRUE(*event->is_done());
  }
  EXPECT_EQ(cudaEventDestroy(theirs), cudaSuccess) << "it is still the caller's";
}

TEST_F(CudaHandlesTest, WhatIsNoCudaHandleIsRefused) {
  const auto host = *tandem::Stream::create();
  EXPECT_EQ(tandem::cuda::native_stream(host).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(tandem::cuda::native_event(*host.record()).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(tandem::cuda::native_event({}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(tandem::cuda::borrow_event(nullptr, 0).error().code(), ErrorCode::InvalidArgument);
  const tandem::Event held = *device().thread_stream().make_event();
  held.impl()->hold();
  EXPECT_EQ(tandem::cuda::native_event(held).error().code(), ErrorCode::InvalidState);
  held.impl()->signal();
}

TEST_F(CudaHandlesTest, PointersAreTensorsOfTheirDevice) {
  const std::array<std::int64_t, 1> sizes{16};
  const auto buffer = device().allocate(64);
  const auto tensor = tandem::cuda::tensor_from_pointer(buffer->data(), ScalarType::Float, sizes);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->device(), device().id());
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_TRUE(tandem::cuda::tensor_from_pointer(managed, ScalarType::Float, sizes).ok());
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  const auto pinned = device().allocate_staging(64);
  std::array<float, 16> pageable{};
  for (void* host : {static_cast<void*>(pinned->data()), static_cast<void*>(pageable.data())}) {
    const auto refused = tandem::cuda::tensor_from_pointer(host, ScalarType::Float, sizes);
    EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  }
}

/// A green context with half of the GPU, and a stream in it.
class CudaGreenTest : public CudaHandlesTest {
 protected:
  void SetUp() override {
    CudaHandlesTest::SetUp();
    if (IsSkipped()) return;
    const auto resource_of = TANDEM_DRIVER(cuDeviceGetDevResource);
    const auto split = TANDEM_DRIVER(cuDevSmResourceSplitByCount);
    const auto describe = TANDEM_DRIVER(cuDevResourceGenerateDesc);
    const auto create = TANDEM_DRIVER(cuGreenCtxCreate);
    const auto create_stream = TANDEM_DRIVER(cuGreenCtxStreamCreate);
    const auto context_of = TANDEM_DRIVER(cuCtxFromGreenCtx);
    if (create == nullptr || create_stream == nullptr) GTEST_SKIP() << "the driver has no green contexts";
    CUdevResource all{};
    CUdevResource half{};
    CUdevResourceDesc description{};
    unsigned groups = 1;
    ASSERT_EQ(resource_of(index(), &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    ASSERT_EQ(split(&half, &groups, &all, nullptr, 0, all.sm.smCount / 2), CUDA_SUCCESS);
    ASSERT_EQ(describe(&description, &half, 1), CUDA_SUCCESS);
    ASSERT_EQ(create(&green_, description, index(), CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    ASSERT_EQ(create_stream(&green_stream_, green_, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    ASSERT_EQ(context_of(&context_, green_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (green_stream_ != nullptr) {
      EXPECT_EQ(cudaStreamDestroy(green_stream_), cudaSuccess);
    }
    if (green_ != nullptr) {
      EXPECT_EQ(TANDEM_DRIVER(cuGreenCtxDestroy)(green_), CUDA_SUCCESS);
    }
    CudaHandlesTest::TearDown();
  }
  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  CUstream green_stream_ = nullptr;
};

TEST_F(CudaGreenTest, StreamsOfGreenContextsAreBorrowed) {
  const auto stream = tandem::cuda::borrow_stream(green_stream_);
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  EXPECT_EQ(stream->ref().device(), device().id());
  EXPECT_TRUE(works(stream->ref().get()));
  const auto other = make_stream();
  const auto event = stream->record();
  ASSERT_TRUE(event.ok()) << event.error().to_string();
  EXPECT_TRUE(other->wait(*event->impl()).ok());
  EXPECT_TRUE(other->synchronize().ok());
}

TEST_F(CudaGreenTest, ThePerThreadStreamIsRefusedUnderOneAndItStaysCurrent) {
  std::thread{[this] {
    ASSERT_EQ(TANDEM_DRIVER(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    EXPECT_EQ(device().thread_stream().may_enqueue().error().code(), ErrorCode::NotSupported);
    EXPECT_EQ(tandem::cuda::borrow_stream(cudaStreamPerThread).error().code(), ErrorCode::NotSupported);
    EXPECT_TRUE(works(*make_stream()));
    CUcontext current = nullptr;
    EXPECT_EQ(TANDEM_DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context_);
    TANDEM_DRIVER(cuCtxSetCurrent)(nullptr);
  }}.join();
}

/// The rest of its process has no GPU any more: each runs in one of its own.
class CudaFaultDeathTest : public CudaTest {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    CudaTest::SetUp();
  }
  /// Runs a kernel that traps on a stream.
  bool trap(Stream& stream) {
    constexpr const char* kCode = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { trap; }\n";
    const DeviceScope scope{index()};
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    return TANDEM_DRIVER(cuModuleLoadData)(&module, kCode) == CUDA_SUCCESS &&
           TANDEM_DRIVER(cuModuleGetFunction)(&function, module, "f") == CUDA_SUCCESS &&
           TANDEM_DRIVER(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, native(stream), nullptr, nullptr) ==
               CUDA_SUCCESS;
  }
  /// 0 if a fault is what it should be.
  int run() {
    {
      const auto stream = make_stream();
      const auto buffer = device().allocate(64);
      if (!trap(*stream)) return 1;
      const Status fault = stream->synchronize();
      if (fault.ok() || fault.error().code() != ErrorCode::DeviceFault) return 2;
      const auto again = device().allocate(64);
      if (again.ok() || again.error().native().code != fault.error().native().code) return 3;
    }  // teardown
    return cudaPeekAtLastError() == cudaSuccess ? 0 : 4;
  }
};

TEST_F(CudaFaultDeathTest, AKernelsFaultIsRememberedAndTeardownIsQuiet) {
  EXPECT_EXIT(std::_Exit(run()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tandem::device::cuda
