// What the backend tells the library, and what it refuses to tell it.
#include "engine_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tandem {
namespace {

using testing::ArgumentMemory;
using ::testing::ElementsAre;
using testing::EngineCall;
using testing::fill;
using testing::ReferenceEngine;

ReferenceEngine dynamic_affine() { return ReferenceEngine::affine({-1, 2}, 2, 1, {0, 2}, {4, 2}); }

TEST(EngineRunTest, Computes) {
  EngineCall call{ReferenceEngine::affine({2, 2}, 3, 1)};
  ArgumentMemory& x = call.argument({2, 2});
  ArgumentMemory& y = call.argument({2, 2});
  fill(x, 1);
  ASSERT_TRUE(call.run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(4, 7, 10, 13));
}

TEST(EngineRunTest, TheLibraryHearsOnlyWhatChanged) {
  EngineCall call{ReferenceEngine::add({2})};
  ArgumentMemory& a = call.argument({2});
  ArgumentMemory& b = call.argument({2});
  call.argument({2});
  const auto& counts = call.provider.counts();
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(counts.shapes, 2);
  EXPECT_EQ(counts.infers, 1);
  EXPECT_EQ(counts.addresses, 3);
  EXPECT_EQ(counts.scratches, 1);

  call.provider.counts().reset();
  fill(a, 5);
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(counts.shapes, 0);
  EXPECT_EQ(counts.infers, 0);
  EXPECT_EQ(counts.addresses, 0);
  EXPECT_EQ(counts.scratches, 0);
  EXPECT_EQ(counts.enqueues, 1);

  std::swap(a.argument.tensor.data, b.argument.tensor.data);
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(counts.addresses, 2);
}

TEST(EngineRunTest, BindingEqualShapesAgainTellsNothing) {
  EngineCall call{ReferenceEngine::affine({2}, 1, 0)};
  ArgumentMemory& x = call.argument({2});
  ArgumentMemory& y = call.argument({2});
  ASSERT_TRUE(call.run().ok());
  call.provider.counts().reset();
  const std::array<const Argument*, 2> arguments{&x.argument, &y.argument};
  ASSERT_TRUE(call.runner().context().bind(arguments).ok());
  EXPECT_EQ(call.provider.counts().shapes, 0);
  EXPECT_EQ(call.provider.counts().infers, 0);
  ASSERT_TRUE(call.run().ok());
}

TEST(EngineRunTest, OutputsFollowTheShapeOfTheInputs) {
  EngineCall call{dynamic_affine()};
  ArgumentMemory& x = call.argument({4, 2}, ScalarType::Float, true);
  ArgumentMemory& y = call.argument({4, 2}, ScalarType::Float, true);
  for (const std::int64_t rows : {3, 1, 4, 4, 0, 2}) {
    x.resize(std::array<std::int64_t, 2>{rows, 2});
    fill(x, 1);
    ASSERT_TRUE(call.run().ok());
    EXPECT_THAT(y.sizes, ElementsAre(rows, 2));
    for (std::size_t i = 0; i < y.floats().size(); ++i) EXPECT_EQ(y.floats()[i], 2 * (1 + static_cast<float>(i)) + 1);
  }
  EXPECT_EQ(call.provider.counts().infers, 5);  // the second 4 was known
}

TEST(EngineRunTest, TensorsWithoutElementsNeedNoMemory) {
  EngineCall call{dynamic_affine()};
  ArgumentMemory& x = call.argument({4, 2}, ScalarType::Float, true);
  ArgumentMemory& y = call.argument({4, 2}, ScalarType::Float, true);
  x.resize(std::array<std::int64_t, 2>{0, 2});
  x.argument.tensor.data = nullptr;
  y.argument.tensor.data = nullptr;
  EXPECT_TRUE(call.run().ok());
}

TEST(EngineRunTest, OneElementLandsInATensorWithoutAxes) {
  EngineCall call{ReferenceEngine::sum({3})};
  ArgumentMemory& x = call.argument({3});
  ArgumentMemory& y = call.argument({});
  fill(x, 1);
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(y.floats()[0], 6);
  EXPECT_TRUE(y.sizes.empty());
}

TEST(EngineRunTest, ATensorWithoutAxesPassesForOneElement) {
  EngineCall call{ReferenceEngine::affine({1}, 2, 0)};
  ArgumentMemory& x = call.argument({});
  ArgumentMemory& y = call.argument({1});
  fill(x, 4);
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(y.floats()[0], 8);
}

TEST(EngineRunTest, AnOutputThatNobodyWantsIsWrittenAllTheSame) {
  EngineCall call{ReferenceEngine::affine({3}, 2, 0)};
  fill(call.argument({3}), 4);
  call.no_argument();
  EXPECT_TRUE(call.run().ok());
  EXPECT_TRUE(call.run().ok());
}

TEST(EngineRunTest, ScratchFollowsTheShape) {
  EngineCall call{dynamic_affine()};
  ArgumentMemory& x = call.argument({4, 2}, ScalarType::Float, true);
  ArgumentMemory& y = call.argument({4, 2}, ScalarType::Float, true);
  const std::array<const Argument*, 2> arguments{&x.argument, &y.argument};
  DelegateContext& context = call.runner().context();
  const auto large = context.bind(arguments);
  ASSERT_TRUE(large.ok());
  EXPECT_GE(large->scratch_bytes, 32U);
}

TEST(EngineRunTest, ACacheIsUpdatedInPlace) {
  EngineCall call{ReferenceEngine::cache(3, 2)};
  ArgumentMemory& token = call.argument({1, 2});
  ArgumentMemory& position = call.argument({1}, ScalarType::Long);
  ArgumentMemory& cache = call.argument({3, 2});
  ArgumentMemory& y = call.argument({1, 2});
  ArgumentMemory& out = call.argument({3, 2});
  fill(cache, 0, 0);
  void* const own = out.argument.tensor.data;
  out.argument.tensor.data = cache.argument.tensor.data;  // as the runtime does it
  for (std::int64_t step = 0; step < 3; ++step) {
    fill(token, static_cast<float>(step + 1));
    std::memcpy(position.argument.tensor.data, &step, sizeof step);
    ASSERT_TRUE(call.run().ok());
  }
  EXPECT_THAT(cache.floats(), ElementsAre(1, 2, 2, 3, 3, 4));
  EXPECT_THAT(y.floats(), ElementsAre(6, 9));
  // Where the program wants a second copy, it gets one.
  out.argument.tensor.data = own;
  ASSERT_TRUE(call.run().ok());
  EXPECT_THAT(out.floats(), ElementsAre(1, 2, 2, 3, 3, 4));
}

TEST(EngineRunTest, AFailedRunLeavesTheContextUsable) {
  EngineCall call{ReferenceEngine::affine({2}, 1, 1)};
  fill(call.argument({2}), 1);
  ArgumentMemory& y = call.argument({2});
  call.provider.failing_enqueue = 0;
  const Status failed = call.run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(failed.error().native().origin, Origin::TensorRt);
  EXPECT_EQ(failed.error().native().text, "enqueue: as told");
  ASSERT_TRUE(call.run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(2, 3));
}

TEST(EngineRunTest, AFirstRunAtNewShapesIsNotForCapture) {
  EngineCall call{dynamic_affine()};
  ArgumentMemory& x = call.argument({4, 2}, ScalarType::Float, true);
  call.argument({4, 2}, ScalarType::Float, true);
  ASSERT_TRUE(call.run().ok());
  call.provider.capturing = true;
  EXPECT_TRUE(call.run().ok());  // warm
  x.resize(std::array<std::int64_t, 2>{1, 2});
  EXPECT_FALSE(call.run().ok());
  call.provider.capturing = false;
  ASSERT_TRUE(call.run().ok());
  call.provider.capturing = true;
  EXPECT_TRUE(call.run().ok());
}

class RefusalTest : public ::testing::Test {
 protected:
  void expect_refused(ErrorCode code, int argument, const std::string& field) {
    const Status ran = call.run();
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code(), code) << ran.error().to_string();
    EXPECT_EQ(ran.error().site().argument, argument);
    EXPECT_EQ(ran.error().site().field, field);
    EXPECT_EQ(call.provider.counts().enqueues, 0);
  }
  EngineCall call{dynamic_affine()};
  ArgumentMemory& x = call.argument({6, 2}, ScalarType::Float, true);
  ArgumentMemory& y = call.argument({6, 2}, ScalarType::Float, true);
};

TEST_F(RefusalTest, ShapesOutsideTheProfile) {
  x.resize(std::array<std::int64_t, 2>{5, 2});
  expect_refused(ErrorCode::InvalidArgument, 0, "x[0]");
  EXPECT_EQ(call.provider.counts().shapes, 0);
  x.resize(std::array<std::int64_t, 2>{4, 2});  // and it works after that
  EXPECT_TRUE(call.run().ok());
}

TEST_F(RefusalTest, StridesThatAreNotDense) {
  x.resize(std::array<std::int64_t, 2>{2, 2});
  x.strides[0] = 3;
  expect_refused(ErrorCode::InvalidArgument, 0, "x");
}

TEST_F(RefusalTest, StridesOfAxesWithOneElementDoNotMatter) {
  x.resize(std::array<std::int64_t, 2>{1, 2});
  x.strides[0] = 77;
  EXPECT_TRUE(call.run().ok());
}

TEST_F(RefusalTest, TensorsOfAnotherDevice) {
  x.resize(std::array<std::int64_t, 2>{2, 2});
  x.argument.tensor.device = {DeviceType::Cuda, 1};
  expect_refused(ErrorCode::InvalidArgument, 0, "x");
}

TEST_F(RefusalTest, OutputsOfAnotherDevice) {
  x.resize(std::array<std::int64_t, 2>{2, 2});
  y.argument.tensor.device = {DeviceType::Cuda, 1};
  expect_refused(ErrorCode::InvalidArgument, 1, "y");
}

TEST_F(RefusalTest, OutputsWithTooLittleMemory) {
  x.resize(std::array<std::int64_t, 2>{4, 2});
  y.argument.tensor.capacity_bytes = 31;
  expect_refused(ErrorCode::InvalidArgument, 1, "y");
}

TEST_F(RefusalTest, InputsWithTooLittleMemory) {
  x.resize(std::array<std::int64_t, 2>{4, 2});
  x.argument.tensor.capacity_bytes = 31;
  expect_refused(ErrorCode::InvalidArgument, 0, "x");
}

TEST_F(RefusalTest, NoMemory) {
  x.resize(std::array<std::int64_t, 2>{1, 2});
  x.argument.tensor.data = nullptr;
  expect_refused(ErrorCode::InvalidArgument, 0, "x");
}

TEST_F(RefusalTest, AddressesThatAreNotAligned) {
  x.resize(std::array<std::int64_t, 2>{1, 2});
  x.argument.tensor.data = static_cast<std::byte*>(x.argument.tensor.data) + 16;
  expect_refused(ErrorCode::InvalidArgument, 0, "x");
}

TEST_F(RefusalTest, AnotherKindOfArgumentThanTheFirstCallHad) {
  x.resize(std::array<std::int64_t, 2>{1, 2});
  static_cast<void>(call.runner());  // loaded by now
  x.argument.tensor.dtype = ScalarType::Int;
  expect_refused(ErrorCode::InvalidType, 0, "x");
  x.argument.kind = Argument::Kind::Int;
  expect_refused(ErrorCode::InvalidType, 0, "x");
}

TEST_F(RefusalTest, AnotherNumberOfArguments) {
  const std::array<const Argument*, 1> arguments{&x.argument};
  const auto bound = call.runner().context().bind(arguments);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code(), ErrorCode::InvalidProgram);
}

TEST(RefusedOutputTest, AFixedOutputOfAnotherSize) {
  EngineCall call{dynamic_affine()};
  fill(call.argument({4, 2}), 0);
  call.argument({3, 2});
  const Status ran = call.run();
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(ran.error().expected(), "[3, 2]");
  EXPECT_EQ(ran.error().found(), "[4, 2]");
  EXPECT_EQ(ran.error().site().argument, 1);
}

TEST(RefusedAliasTest, AnEmptyCache) {
  ReferenceEngine engine = ReferenceEngine::affine({-1}, 1, 0, {0}, {4});
  engine.tensors[1].alias_of = "x";
  EngineCall call{engine};
  ArgumentMemory& x = call.argument({4}, ScalarType::Float, true);
  call.argument({4}, ScalarType::Float, true);
  x.resize(std::array<std::int64_t, 1>{0});
  const Status ran = call.run();
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(ran.error().site().field, "x");
}

}  // namespace
}  // namespace tandem
