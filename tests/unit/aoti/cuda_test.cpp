#include "backends/aoti/cuda_backend.h"

#include "backends/aoti/aoti_context.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_image.h"
#include "backends/aoti/cuda_shims.h"
#include "cuda_model.h"
#include "device/cuda/cuda_device.h"
#include "library_files.h"
#include "support/delegate_runner.h"
#include "support/fake_cuda.h"

#include <tandem/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

/// Delegates for CUDA over a CUDA that is not there: host functions for kernels, host memory for the device's.
namespace tandem::aoti {
namespace {

using ::testing::AllOf;
using testing::ArgumentMemory;
using testing::DelegateRunner;
using ::testing::ElementsAre;
using testing::FakeCuda;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Kind = OutputResult::Kind;

void fill(ArgumentMemory& memory, const std::vector<float>& values) {
  ASSERT_EQ(values.size(), memory.floats().size());
  std::ranges::copy(values, memory.floats().begin());
}

/// weight {1, 2, 3, 4}, count 5, so step 10.
CudaModel counter_model() {
  CudaModel model{"cuda_counter"};
  model.tensor({4}).tensor({4}).blob(kWeightsKey, {1, 2, 3, 4, 5});
  return model;
}

void run(DelegateRunner& runner) {
  const Status ran = runner.run();
  ASSERT_TRUE(ran.ok()) << ran.error().to_string();
}

TEST_F(Cuda, SizesAreLearnedFromChecksThatComputeNothing) {
  int computed = 0;
  set_log_sink([&computed](LogLevel, std::string_view text) {
    if (text.find("it computes") != std::string_view::npos) ++computed;
  });
  CudaModel model{"cuda_checked"};
  model.tensor({3}).tensor({16, 4, 9}, true).tensor({7}, true, ScalarType::Long).tensor({4});
  const auto delegate = model.prepare();
  set_log_sink({});
  ASSERT_TRUE(delegate.ok()) << delegate.error().to_string();
  EXPECT_EQ(computed, 1);  // ahead of the first run, at the program's sizes
  const auto bounds = (*delegate)->input_bounds();
  ASSERT_EQ(bounds.size(), 3U);
  EXPECT_TRUE(bounds[0].empty());
  ASSERT_EQ(bounds[1].size(), 3U);
  EXPECT_EQ(bounds[1][0].min, 1);
  EXPECT_EQ(bounds[1][0].max, 16);
  EXPECT_EQ(bounds[1][1].min, 4);
  EXPECT_EQ(bounds[1][1].max, 4);
  EXPECT_EQ(bounds[1][2].min, 0);
  ASSERT_EQ(bounds[2].size(), 1U);
  EXPECT_EQ(bounds[2][0].min, 5);
}

TEST_F(Cuda, RunsGiveTheRightValuesAndTheStateStartsWhereTheFileSays) {
  CudaModel model = counter_model();
  fill(model.argument(0), {1, 1, 1, 1});
  DelegateRunner& runner = model.runner();
  run(runner);
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(7, 9, 11, 13));
  run(runner);
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(17, 19, 21, 23));
  EXPECT_TRUE(model.delegate().capabilities().stateful);
  EXPECT_FALSE(model.delegate().capabilities().runs_on_host);
}

TEST_F(Cuda, RunMakesTheLibrarysLaunchesOnTheRunsStreamAndNoOtherCall) {
  CudaModel model = counter_model();
  DelegateRunner& runner = model.runner();
  run(runner);  // binds
  fake_.reset();
  for (int i = 0; i < 10; ++i) run(runner);
  EXPECT_THAT(fake_.counts, UnorderedElementsAre(Pair("cuLaunchKernel", 30), Pair("cuModuleGetFunction", 30)));
  EXPECT_THAT(fake_.streams, ElementsAre(FakeCuda::kRunStream));
  EXPECT_THAT(fake_.log, ::testing::Contains("cuLaunchKernel weigh"));
}

TEST_F(Cuda, AlsoTheFirstRunMakesNoOtherCall) {
  CudaModel model = counter_model();
  DelegateRunner& runner = model.runner();
  fake_.reset();
  run(runner);
  EXPECT_THAT(fake_.counts, UnorderedElementsAre(Pair("cuLaunchKernel", 3), Pair("cuModuleGetFunction", 3)));
}

TEST_F(Cuda, OutputIsWrittenInPlaceAndTemporariesAreScratch) {
  CudaModel model = counter_model();
  DelegateRunner& runner = model.runner();
  run(runner);
  EXPECT_EQ(runner.results()[0].kind, Kind::InPlace);
  EXPECT_EQ(runner.results()[0].data, model.argument(1).argument.tensor.data);
  EXPECT_EQ(runner.scratch_bytes(), 64 + 64U);  // one temporary, and what the runner aligns by
  EXPECT_TRUE(
      dynamic_cast<AotiContext&>(dynamic_cast<testing::ContextWithMemory&>(runner.context()).inner()).repeats());
}

TEST_F(Cuda, LoadingFoldsAndLoadsKernelsInThisOrder) {
  CudaModel model = counter_model();
  ASSERT_TRUE(model.prepare().ok());
  const auto at = [this](const char* call) { return std::ranges::find(fake_.log, call) - fake_.log.begin(); };
  EXPECT_LT(at("upload"), at("cudaEventRecord"));
  EXPECT_LT(at("cudaEventRecord"), at("cuModuleLoadData"));
  EXPECT_LT(at("cuModuleLoadData"), at("cuLaunchKernel advance"));
  EXPECT_LT(at("cuLaunchKernel advance"), at("cuModuleUnload"));
  EXPECT_EQ(fake_.streams.count(FakeCuda::kRunStream), 0U);
}

TEST_F(Cuda, ContextsHaveStateOfTheirOwnAndShareTheWeights) {
  CudaModel model = counter_model();
  fill(model.argument(0), {0, 0, 0, 0});
  DelegateRunner& first = model.runner();
  run(first);
  run(first);
  const int uploads = fake_.count("upload");
  DelegateRunner& second = model.runner();
  EXPECT_EQ(fake_.count("upload"), uploads);
  run(second);
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(6, 7, 8, 9));
  run(first);
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(26, 27, 28, 29));
}

// ------------------------------------------------------------------------------------------------------- results

CudaModel results_model(std::int64_t rows = 2) {
  CudaModel model{"cuda_results"};
  model.tensor({rows, 3}).tensor({rows, 3}).tensor({rows, 3}).tensor({rows, 3}).number().tensor({rows, 3});
  std::iota(model.argument(0).floats().begin(), model.argument(0).floats().end(), 1.0F);
  return model;
}

TEST_F(Cuda, EveryKindOfResultEndsWhereTheProgramWantsIt) {
  CudaModel model = results_model();
  DelegateRunner& runner = model.runner();
  for (int i = 0; i < 3; ++i) {
    for (const std::size_t output : {1, 2, 3, 5}) std::ranges::fill(model.argument(output).floats(), -1.0F);
    run(runner);
    EXPECT_THAT(model.argument(1).floats(), ElementsAre(2, 4, 6, 8, 10, 12));
    EXPECT_THAT(model.argument(2).floats(), ElementsAre(3, 6, 9, 12, 15, 18));
    EXPECT_THAT(model.argument(3).floats(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(model.argument(5).floats(), ElementsAre(4, 8, 12, 16, 20, 24));
    EXPECT_EQ(model.argument(4).argument.integer, 2);
    for (const std::size_t output : {0, 1, 2, 4}) EXPECT_EQ(runner.results()[output].kind, Kind::InPlace) << output;
    EXPECT_EQ(runner.results()[3].kind, Kind::Number);
  }
}

TEST_F(Cuda, ResultsOfOtherLayoutsAreCopiedOnTheRunsStream) {
  CudaModel model = results_model();
  DelegateRunner& runner = model.runner();
  run(runner);
  fake_.reset();
  run(runner);
  // Columns first: two rows of three elements are two calls; the two views are one each.
  EXPECT_THAT(fake_.counts, UnorderedElementsAre(Pair("cuLaunchKernel", 1), Pair("cuModuleGetFunction", 1),
                                                 Pair("cudaMemcpy2DAsync", 2), Pair("cudaMemcpyAsync", 2)));
  EXPECT_THAT(fake_.streams, ElementsAre(FakeCuda::kRunStream));
}

TEST_F(Cuda, RecordedRunEnqueuesNothing) {
  CountingRecorder recorder;
  {
    CudaModel model = counter_model();
    DelegateRunner& runner = model.runner();
    fill(model.argument(0), {1, 1, 1, 1});
    run(runner);
    const std::vector<float> before{model.argument(1).floats().begin(), model.argument(1).floats().end()};
    fake_.reset();
    const Status recorded = runner.record(recorder);
    ASSERT_TRUE(recorded.ok()) << recorded.error().to_string();
    EXPECT_EQ(fake_.count("cuLaunchKernel"), 0);
    EXPECT_TRUE(fake_.streams.empty());
    EXPECT_THAT(model.argument(1).floats(), ::testing::ElementsAreArray(before));
    EXPECT_EQ(runner.results().front().kind, Kind::InPlace);
    const std::size_t launches = recorder.functions.size();
    EXPECT_GT(launches, 0U);
    fake_.reset();
    run(runner);
    EXPECT_EQ(fake_.count("cuLaunchKernel"), static_cast<int>(launches)) << "the graph has what a run has";
    EXPECT_EQ(recorder.functions.size(), launches);
  }
  ASSERT_EQ(recorder.kept.size(), 1U);
  recorder.kept.clear();  // memory of a context that has gone
}

TEST_F(Cuda, WhatIsNoKernelIsNotRecorded) {
  CudaModel model = results_model();
  DelegateRunner& runner = model.runner();
  run(runner);
  fake_.reset();
  CountingRecorder recorder;
  const Status recorded = runner.record(recorder);
  ASSERT_FALSE(recorded.ok());
  EXPECT_THAT(recorded.error().to_string(), HasSubstr("recorded"));
  EXPECT_TRUE(fake_.streams.empty()) << "nothing may run out of order";
  EXPECT_TRUE(recorder.kept.empty());
  run(runner);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST_F(Cuda, CapturedRunEnqueuesAsARunDoesAndWaitsForNothing) {
  CudaModel model = results_model();
  DelegateRunner& runner = model.runner();
  run(runner);
  fake_.reset();
  run(runner);
  const auto of_a_run = fake_.counts;
  fake_.reset();
  CountingRecorder recorder;
  const Status captured = runner.record(recorder, /*is_captured=*/true);
  ASSERT_TRUE(captured.ok()) << captured.error().to_string();
  EXPECT_EQ(fake_.counts, of_a_run);
  EXPECT_THAT(fake_.streams, ElementsAre(FakeCuda::kRunStream));
  EXPECT_TRUE(recorder.functions.empty());
  EXPECT_EQ(recorder.kept.size(), 1U);
  EXPECT_EQ(fake_.count("cudaStreamSynchronize"), 0);
}

TEST_F(Cuda, SizesThatNeverRanAreNotRecorded) {
  CudaModel model = results_model(4);
  DelegateRunner& runner = model.runner();
  run(runner);
  for (const std::size_t i : {0, 1, 2, 3, 5}) model.argument(i).resize(std::vector<std::int64_t>{2, 3});
  CountingRecorder recorder;
  const Status recorded = runner.record(recorder);
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(recorded.error().message(), HasSubstr("has not run at these sizes"));
  run(runner);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST_F(Cuda, RecordersFailureComesOut) {
  CudaModel model = counter_model();
  DelegateRunner& runner = model.runner();
  run(runner);
  CountingRecorder recorder;
  recorder.fails = true;
  const Status recorded = runner.record(recorder);
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.error().code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(recorded.error().to_string(), HasSubstr("no node"));
  run(runner);
}

TEST_F(Cuda, NumberOnTheDeviceIsRefusedAtLoad) {
  CudaModel model{"cuda_results"};
  model.tensor({2, 3}).number().tensor({2, 3}).tensor({2, 3}).number().tensor({2, 3});
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_EQ(error.site().argument, 1);
}

/// Only the first sizes are known when the delegate is loaded.
TEST_F(Cuda, RunAtOtherSizesRecordsWithoutWaiting) {
  CudaModel model = results_model(4);
  DelegateRunner& runner = model.runner();
  run(runner);
  for (const std::size_t i : {0, 1, 2, 3, 5}) model.argument(i).resize(std::vector<std::int64_t>{2, 3});
  fake_.reset();
  run(runner);
  EXPECT_EQ(fake_.count("cudaStreamSynchronize"), 0);
  EXPECT_EQ(fake_.count("cudaFree"), 0);
  EXPECT_GT(fake_.count("cudaMalloc"), 0);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(3, 6, 9, 12, 15, 18));
  run(runner);
  fake_.reset();
  run(runner);
  EXPECT_EQ(fake_.count("cudaMalloc"), 0);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(3, 6, 9, 12, 15, 18));
}

// ------------------------------------------------------------------------------------------------------- weights

void put(std::string& to, const auto& value) { to.append(reinterpret_cast<const char*>(&value), sizeof value); }
void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

std::string entries_payload(const std::string& code_key, std::int32_t device = 1) {
  std::string payload = "ETCUDAFQN3";
  put_text(payload, code_key);
  put(payload, std::uint32_t{2});
  for (const auto& [fqn, count] : {std::pair{"layer.weight", std::int64_t{4}}, std::pair{"count", std::int64_t{1}}}) {
    put_text(payload, fqn);
    put_text(payload, std::string{"cuda_fqn_weight:cuda:"} + fqn);
    put(payload, static_cast<std::uint64_t>(count) * sizeof(float));
    put(payload, std::int32_t{6});
    put(payload, device);
    put(payload, std::int64_t{0});
    put(payload, std::uint32_t{1});
    put(payload, count);
    put(payload, std::int64_t{1});
  }
  return payload;
}

CudaModel entries_model() {
  CudaModel model = counter_model();
  model.payload(entries_payload(model.code_key()));
  model.blob("cuda_fqn_weight:cuda:layer.weight", {1, 2, 3, 4}).blob("cuda_fqn_weight:cuda:count", {5});
  return model;
}

TEST_F(Cuda, EntriesAreUploadedOnceForAllDelegatesOfTheirProgramAndBuffersForEach) {
  CudaModel model = entries_model();
  fill(model.argument(0), {0, 0, 0, 0});
  DelegateRunner& runner = model.runner();
  EXPECT_EQ(fake_.count("upload"), 2) << "the weight, and the buffer of the run at load";
  ASSERT_TRUE(model.prepare().ok());
  EXPECT_EQ(fake_.count("upload"), 3) << "a buffer more";
  run(runner);
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(6, 7, 8, 9));
  run(model.runner());
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(6, 7, 8, 9));
}

TEST_F(Cuda, MissingWeightsFailTheLoadByTheirKey) {
  CudaModel model{"cuda_counter"};
  const Error error = model.tensor({4}).tensor({4}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.site().key, kWeightsKey);
  EXPECT_EQ(error.site().delegate, 3);
}

TEST_F(Cuda, DelegateWithoutConstantsNeedsNoWeights) { EXPECT_TRUE(results_model().prepare().ok()); }

TEST_F(Cuda, BlobOfAnotherLengthIsRefused) {
  CudaModel model = counter_model();
  model.blob(kWeightsKey, {1, 2, 3, 4});
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidExternalData);
  EXPECT_EQ(error.expected(), "20 bytes");
  EXPECT_EQ(error.found(), "16 bytes");
}

TEST_F(Cuda, ConstantOfAnUnknownDeviceIsRefused) {
  CudaModel model = entries_model();
  const Error error = model.payload(entries_payload(model.code_key(), 12)).refusal();
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.site().key, "layer.weight");
}

TEST_F(Cuda, CompileSpecNamesTheMethodOfAnEmptyPayload) {
  CudaModel model = counter_model();
  const std::string name = "prefill";
  model.compile_specs = {{"method_name", std::as_bytes(std::span{name})}};
  model.blobs().add("prefill_so_blob", library_bytes("cuda_counter"));
  model.payload("").blob("prefill_weights_blob", {1, 2, 3, 4, 5});
  const auto delegate = model.prepare();
  EXPECT_TRUE(delegate.ok()) << delegate.error().to_string();
}

// ------------------------------------------------------------------------------------------------------ refusals

TEST_F(Cuda, FunctionsThatNobodySuppliesAreAllNamedBeforeAnythingRuns) {
  const Error error = CudaModel{"cuda_missing"}.tensor({1}).tensor({1}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("cudaDeviceSynchronize"), HasSubstr("cublasCreate_v2"),
                                     HasSubstr("cuCtxSynchronize"), HasSubstr("aoti_torch_cuda_topk")));
  EXPECT_TRUE(fake_.log.empty());
}

TEST_F(Cuda, KernelsForAnotherGpuAreRefusedAtLoadNamingIt) {
  fake_.module_load_answer = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const Error error = counter_model().refusal();
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(error.native().text,
              AllOf(HasSubstr("cuModuleLoadData"), HasSubstr("(209)"), HasSubstr("cuda:0 is sm_90")));
}

TEST_F(Cuda, FaultOfTheFirstRunFailsTheLoad) {
  fake_.synchronize_answer = cudaErrorIllegalAddress;
  EXPECT_EQ(results_model().refusal().code(), ErrorCode::DeviceFault);
}

CudaModel refused_model(int reason) {
  CudaModel model{"cuda_refused_" + std::to_string(reason)};
  model.tensor({2, 3}).tensor({2, 3});
  return model;
}

TEST_F(Cuda, RefusalThatNoDataChangesFailsTheLoadByItsName) {
  const Error copy = refused_model(1).refusal();
  EXPECT_EQ(copy.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(copy.to_string(), AllOf(HasSubstr("aoti_torch_copy_"), HasSubstr("int64"), HasSubstr("float32")));
  const Error rank = refused_model(4).refusal();
  EXPECT_EQ(rank.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(rank.to_string(), AllOf(HasSubstr("aoti_torch_empty_strided"), HasSubstr("rank is 17")));
}

/// Zeros, at the largest sizes, may be what the delegate does not take.
TEST_F(Cuda, RefusalOfDataOrSizesDoesNotFailTheLoad) {
  CudaModel model = refused_model(2);
  DelegateRunner& runner = model.runner();
  EXPECT_EQ(runner.run().error().code(), ErrorCode::BackendFailed);
  model.argument(0).floats()[0] = 1;
  run(runner);
  CudaModel sizes = refused_model(3);
  const Status ran = sizes.runner().run();
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.error().to_string().find("mm_out"), std::string::npos);
}

TEST_F(Cuda, ResultOfAnotherKindFailsTheLoad) {
  const Error dtype = refused_model(5).refusal();
  EXPECT_EQ(dtype.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(dtype.site().argument, 1);
  EXPECT_EQ(dtype.expected(), "float32 of rank 2");
  EXPECT_EQ(dtype.found(), "int64 of rank 2");
  CudaModel flat{"cuda_counter"};
  flat.tensor({4}).tensor({2, 2}).blob(kWeightsKey, {1, 2, 3, 4, 5});
  EXPECT_EQ(flat.refusal().found(), "float32 of rank 1");
}

TEST_F(Cuda, DeviceThatIsNotThereIsRefused) {
  const auto made = counter_model().prepare_on(1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(made.error().site().backend, "CudaBackend");
}

/// Every allocation of a load fails once; nothing is left of any of them.
TEST_F(Cuda, FailedLoadsLeaveNothing) {
  int allocations = 0;
  for (;; ++allocations) {
    fake_.reset();
    fake_.allocations_left = allocations;
    const auto made = counter_model().prepare();
    if (made.ok()) break;
    EXPECT_EQ(made.error().code(), ErrorCode::OutOfMemory) << made.error().to_string();
    expect_nothing_left();
  }
  EXPECT_GE(allocations, 5);
}

TEST_F(Cuda, HundredLoadsLeaveNothing) {
  for (int i = 0; i < 100; ++i) {
    CudaModel model = counter_model();
    run(model.runner());
    fake_.module_load_answer = i % 2 == 0 ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
    EXPECT_EQ(counter_model().prepare().ok(), i % 2 != 0);
    fake_.module_load_answer = CUDA_SUCCESS;
  }
}

TEST_F(Cuda, ModulesAreUnloadedAfterTheContainer) {
  {
    CudaModel model = counter_model();
    run(model.runner());
    EXPECT_EQ(fake_.modules.size(), 1U);
    fake_.reset();
  }
  EXPECT_EQ(fake_.count("cuModuleUnload"), 1);
}

// ------------------------------------------------------------------------------------------------------- options

TEST(CudaBackend, TakesTheOptionsOfExecutorch) {
  const auto backend = make_cuda_backend(FakeCuda::functions());
  std::vector<std::string> lines;
  set_log_sink([&lines](LogLevel, std::string_view text) { lines.emplace_back(text); });
  BackendOptions options;
  options.set_option("use_shared_cuda_stream", true)
      .set_option("enable_cuda_graph_for_method", "forward")
      .set_option("weight_sharing_across_methods", true)
      .set_option("something_else", 1);
  EXPECT_TRUE(backend->set_options(options).ok());
  set_log_sink({});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("use_shared_cuda_stream")));
}

TEST_F(Cuda, MethodsOfTheGraphOptionPreferGraphs) {
  CudaModel model = counter_model();
  const auto prefers = [&model](const BackendOptions* of_the_load) {
    model.options = of_the_load;
    const auto made = model.prepare();
    EXPECT_TRUE(made.ok());
    return made.ok() && (*made)->capabilities().prefers_graph;
  };
  model.backend = make_cuda_backend(FakeCuda::functions());
  EXPECT_FALSE(prefers(nullptr));
  const auto list = [](const char* methods) {
    return BackendOptions{}.set_option("enable_cuda_graph_for_method", methods);
  };
  ASSERT_TRUE(model.backend->set_options(list("prefill , forward")).ok());
  EXPECT_TRUE(prefers(nullptr));
  const BackendOptions none = list("");
  EXPECT_FALSE(prefers(&none)) << "the load's own list counts";
  ASSERT_TRUE(model.backend->set_options(list("forwards,for")).ok());
  EXPECT_FALSE(prefers(nullptr)) << "a new list replaces the old one";
  const BackendOptions own = list("forward");
  EXPECT_TRUE(prefers(&own));
  const BackendOptions wrong = BackendOptions{}.set_option("enable_cuda_graph_for_method", true);
  model.options = &wrong;
  EXPECT_EQ(model.refusal().code(), ErrorCode::InvalidType);
  model.backend.reset();
}

TEST(CudaBackend, IsNotAvailableWithoutADevice) {
  if (device::cuda::device_count() != 0) GTEST_SKIP() << "there is a CUDA device";
  const Status available = make_cuda_backend()->available();
  ASSERT_FALSE(available.ok());
  EXPECT_EQ(available.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(CudaModel{"cuda_results"}.tensor({2, 3}).refusal_on(cuda_functions()).code(), ErrorCode::NotSupported);
}

TEST(CudaBackend, RefusesAnOptionOfAnotherType) {
  const auto backend = make_cuda_backend(FakeCuda::functions());
  EXPECT_EQ(backend->set_options(BackendOptions{}.set_option("use_shared_cuda_stream", "yes")).error().code(),
            ErrorCode::InvalidType);
  EXPECT_EQ(backend->set_options(BackendOptions{}.set_option("enable_cuda_graph_for_method", true)).error().site().key,
            "enable_cuda_graph_for_method");
}

// ---------------------------------------------------------------------------------------------------- small parts

TEST(CudaImage, TargetsOfCubinsFatbinariesAndPtx) {
  alignas(8) std::array<unsigned char, 64> cubin{0x7F, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
  const std::uint32_t flags = 0x9005A04;
  std::memcpy(cubin.data() + 48, &flags, sizeof flags);
  EXPECT_EQ(targets_of(cubin.data()), "sm_90");
  cubin[8] = 7;
  const std::uint32_t old_flags = 0x500550;
  std::memcpy(cubin.data() + 48, &old_flags, sizeof old_flags);
  EXPECT_EQ(targets_of(cubin.data()), "sm_80");
  EXPECT_EQ(targets_of("//\n.version 8.7\n.target sm_90a\n.address_size 64\n"), "PTX for sm_90a");
  EXPECT_EQ(targets_of("something else"), "an unknown target");
  std::string fatbinary;
  put(fatbinary, 0xBA55ED50U);
  put(fatbinary, std::uint16_t{1});
  put(fatbinary, std::uint16_t{16});
  put(fatbinary, std::uint64_t{2 * 64});
  for (const auto kind : {std::uint16_t{2}, std::uint16_t{1}}) {
    std::string entry;
    put(entry, kind);
    put(entry, std::uint16_t{0});
    put(entry, std::uint32_t{64});
    put(entry, std::uint64_t{0});
    entry.resize(28);
    put(entry, std::uint32_t{86});
    entry.resize(64);
    fatbinary += entry;
  }
  EXPECT_EQ(targets_of(fatbinary.data()), "sm_86, compute_86");
}

TEST(CudaShims, CoverWhatExporterLibrariesImport) {
  for (const char* name : {"aoti_torch_clone",
                           "aoti_torch_clone_preserve_strides",
                           "aoti_torch_create_cuda_stream_guard",
                           "aoti_torch_create_tensor_from_blob",
                           "aoti_torch_create_tensor_from_blob_v2",
                           "aoti_torch_delete_cuda_stream_guard",
                           "aoti_torch_delete_tensor_object",
                           "aoti_torch_device_type_cpu",
                           "aoti_torch_device_type_cuda",
                           "aoti_torch_dtype_float32",
                           "aoti_torch_dtype_int64",
                           "aoti_torch_empty_strided",
                           "aoti_torch_get_data_ptr",
                           "aoti_torch_get_device_type",
                           "aoti_torch_get_dtype",
                           "aoti_torch_get_sizes",
                           "aoti_torch_get_storage_offset",
                           "aoti_torch_get_storage_size",
                           "aoti_torch_get_strides",
                           "aoti_torch_grad_mode_is_enabled",
                           "aoti_torch_grad_mode_set_enabled",
                           "aoti_torch_layout_strided",
                           "aoti_torch_new_tensor_handle",
                           "aoti_torch_warn",
                           "cuFuncSetAttribute",
                           "cuGetErrorString",
                           "cuLaunchKernel",
                           "cuModuleGetFunction",
                           "cuModuleLoadData",
                           "cudaEventCreate",
                           "cudaEventDestroy",
                           "cudaEventQuery",
                           "cudaEventRecord",
                           "cudaEventSynchronize",
                           "cudaFree",
                           "cudaGetDevice",
                           "cudaGetErrorString",
                           "cudaGetLastError",
                           "cudaMalloc",
                           "cudaMemcpy",
                           "cudaSetDevice"}) {
    EXPECT_NE(shim_table_cuda().find(name), 0U) << name;
  }
}

TEST(CudaShims, OutsideOfACallCudaIsNotThere) {
  int device = -1;
  const auto get_device = reinterpret_cast<int (*)(int*)>(shim_table_cuda().find("cudaGetDevice"));
  EXPECT_EQ(get_device(&device), cudaErrorInitializationError);
}

}  // namespace
}  // namespace tandem::aoti
