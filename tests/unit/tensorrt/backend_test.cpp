// Loading: what a delegate declares, and how what does not fit is refused.
#include "engine_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

using testing::blob_of;
using testing::BlobParts;
using ::testing::ElementsAre;
using testing::EngineCall;
using testing::metadata_of;
using testing::ReferenceEngine;

/// Of an affine engine on two floats.
Error refused(EngineCall& call) {
  call.argument({2});
  call.argument({2});
  auto prepared = call.prepare();
  EXPECT_FALSE(prepared.ok());
  return prepared.ok() ? Error{ErrorCode::Internal, "accepted"} : std::move(prepared).error();
}

TEST(TensorRTDelegateTest, DeclaresWhatItDoes) {
  ReferenceEngine engine = ReferenceEngine::cache(3, 2);
  engine.auxiliary_streams = 1;
  EngineCall call{engine};
  call.argument({1, 2});
  call.argument({1}, ScalarType::Long);
  call.argument({3, 2});
  call.argument({1, 2});
  call.argument({3, 2});
  const auto delegate = call.prepare();
  ASSERT_TRUE(delegate.ok()) << delegate.error().to_string();
  EXPECT_EQ((*delegate)->output_count(), 2U);
  EXPECT_THAT((*delegate)->accesses(5), ElementsAre(AccessMode::Read, AccessMode::Read, AccessMode::Update,
                                                    AccessMode::Write, AccessMode::Write));
  const auto aliases = (*delegate)->aliased_outputs();
  ASSERT_EQ(aliases.size(), 1U);
  EXPECT_EQ(aliases[0].output, 1U);
  EXPECT_EQ(aliases[0].input, 2U);
  const DelegateCapabilities capabilities = (*delegate)->capabilities();
  EXPECT_TRUE(capabilities.runs_on_host);
  EXPECT_FALSE(capabilities.stateful);
  EXPECT_EQ(capabilities.side_streams, 1U);
  EXPECT_EQ(capabilities.alignment, 64U);
}

TEST(TensorRTDelegateTest, EveryInstanceHasAContextOfItsOwn) {
  EngineCall call{ReferenceEngine::affine({2}, 1, 0)};
  call.argument({2});
  call.argument({2});
  const auto delegate = call.prepare();
  ASSERT_TRUE(delegate.ok());
  const auto one = (*delegate)->new_context();
  const auto two = (*delegate)->new_context();
  EXPECT_EQ(call.provider.counts().contexts, 2);
}

TEST(TensorRTDelegateTest, ContextsOutliveTheDelegate) {
  EngineCall call{ReferenceEngine::affine({2}, 1, 0)};
  auto& x = call.argument({2});
  auto& y = call.argument({2});
  std::unique_ptr<DelegateContext> context;
  {
    const auto delegate = call.prepare();
    context = *(*delegate)->new_context();
  }
  const std::array<const Argument*, 2> arguments{&x.argument, &y.argument};
  EXPECT_TRUE(context->bind(arguments).ok());
}

TEST(TensorRTLoadTest, AMalformedBlobNamesTheDelegate) {
  EngineCall call{"TR01"};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.site().backend, "TensorRTBackend");
  EXPECT_EQ(error.site().delegate, 7);
  EXPECT_EQ(error.site().method, "forward");
  EXPECT_EQ(error.site().field, "head");
  EXPECT_EQ(error.site().offset, 4U);
}

TEST(TensorRTLoadTest, WhatTheLibrarySaysOfAnEngineIsKept) {
  BlobParts parts;
  parts.metadata = metadata_of({"x"}, {"y"});
  parts.engine = "garbage";
  EngineCall call{parts.bytes()};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
  EXPECT_EQ(error.native().origin, Origin::TensorRt);
  EXPECT_EQ(error.native().text, "deserialize: not an engine");
  EXPECT_EQ(error.site().delegate, 7);
}

TEST(TensorRTLoadTest, AnotherVersionNamesBothSides) {
  ReferenceEngine engine = ReferenceEngine::affine({2}, 1, 0);
  engine.version = 2;
  EngineCall call{engine};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "version 3");
  EXPECT_EQ(error.found(), "version 2");
}

TEST(TensorRTLoadTest, AnotherComputeCapabilityNamesBothSides) {
  ReferenceEngine engine = ReferenceEngine::affine({2}, 1, 0);
  engine.capability = "12.0";
  EngineCall call{engine};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "compute capability 9.0");
  EXPECT_EQ(error.found(), "compute capability 12.0");
}

TEST(TensorRTLoadTest, AMethodOnAnotherKindOfDeviceIsRefused) {
  EngineCall call{ReferenceEngine::affine({2}, 1, 0)};
  call.load_context.device = {DeviceType::Cuda, 0};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_EQ(error.found(), "cuda:0");
}

TEST(TensorRTLoadTest, AnotherTypeThanTheProgramsIsRefused) {
  ReferenceEngine engine = ReferenceEngine::affine({2}, 1, 0);
  engine.tensors[0].dtype = "float16";
  EngineCall call{engine};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::InvalidType);
  EXPECT_EQ(error.site().field, "x");
  EXPECT_EQ(error.expected(), "float16");
}

TEST(TensorRTLoadTest, VectorisedFormatsAreRefusedByName) {
  ReferenceEngine engine = ReferenceEngine::affine({2}, 1, 0);
  engine.tensors[1].format = "CHW32";
  EngineCall call{engine};
  const Error error = refused(call);
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_EQ(error.found(), "CHW32");
  EXPECT_EQ(error.site().field, "y");
}

TEST(TensorRTLoadTest, TheWeightBudgetReachesTheEngine) {
  ReferenceEngine engine = ReferenceEngine::affine({2}, 1, 0);
  engine.streamable_bytes = 5000;
  EngineCall call{engine};
  call.argument({2});
  call.argument({2});
  BackendOptions options;
  options.set_option("weight_streaming_budget", "123");
  call.load_context.options = &options;
  EXPECT_TRUE(call.prepare().ok());
  EXPECT_EQ(call.provider.counts().budget, 123);
  options.set_option("weight_streaming_budget", "much");
  const auto refused = call.prepare();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().site().delegate, 7);
}

}  // namespace
}  // namespace tandem
