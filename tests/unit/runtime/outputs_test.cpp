#include "base/text.h"
#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using testing::MethodBuilder;
using testing::TestRun;

class OutputsTest : public ::testing::Test {
 protected:
  OutputsTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
    x = b.tensor({4}, 0, true);
    y = b.tensor({4}, 64, true);
    b.inputs({x}).delegate("F", {x, y});
  }
  Tensor bound(std::int64_t size) { return *Tensor::empty(ScalarType::Float, std::array<std::int64_t, 1>{size}); }
  Error refused(TestRun& run, const std::vector<Tensor>& tensors) {
    auto result = run.run({floats({2}, {1, 2})}, tensors);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error{ErrorCode::Internal, "accepted"} : std::move(result).error();
  }

  MethodBuilder b;
  std::int32_t x = 0;
  std::int32_t y = 0;
};

TEST_F(OutputsTest, BelongToTheCallerUntilDropped) {
  b.outputs({y});
  TestRun run{b};
  auto first = run.run({floats({2}, {1, 2})});
  auto second = run.run({floats({2}, {10, 20})});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(testing::to_floats(first->front()), (std::vector<float>{2, 3}));
  EXPECT_EQ(testing::to_floats(second->front()), (std::vector<float>{11, 21}));
  const void* freed = first->front().tensor().data();
  first->clear();
  const auto third = run.run({floats({3}, {1, 1, 1})});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->front().tensor().data(), freed);  // recycled, with its new size
  EXPECT_EQ(testing::to_floats(third->front()), (std::vector<float>{2, 2, 2}));
}

TEST_F(OutputsTest, OneValueTwiceSharesATensor) {
  b.outputs({y, y});
  TestRun run{b};
  const auto values = run.run({floats({2}, {1, 2})});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ((*values)[0].tensor().data(), (*values)[1].tensor().data());
}

TEST_F(OutputsTest, InputAsOutputIsACopy) {
  b.outputs({x});
  TestRun run{b};
  const Value mine = floats({2}, {1, 2});
  const auto values = run.run({mine});
  ASSERT_TRUE(values.ok());
  EXPECT_NE(values->front().tensor().data(), mine.tensor().data());
  EXPECT_EQ(testing::to_floats(values->front()), (std::vector<float>{1, 2}));
}

TEST_F(OutputsTest, BoundTensorIsWrittenDirectly) {
  b.outputs({y});
  TestRun run{b};
  const Tensor mine = bound(4);
  const auto values = run.run({floats({2}, {1, 2})}, {mine});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(values->front().tensor().data(), mine.data());
  EXPECT_EQ(testing::to_floats(values->front()), (std::vector<float>{2, 3}));
}

TEST_F(OutputsTest, BoundTensorOfTheExactSizeIsFilled) {
  b.outputs({y});
  TestRun run{b};
  const Tensor mine = bound(2);
  const auto values = run.run({floats({2}, {1, 2})}, {mine});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(testing::to_floats(Value{mine}), (std::vector<float>{2, 3}));
}

TEST_F(OutputsTest, BoundTensorOfAnotherSizeIsRefused) {
  b.outputs({y});
  TestRun run{b};
  const Error error = refused(run, {bound(3)});
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error.expected(), "[2]");
  EXPECT_EQ(error.found(), "[3]");
}

TEST_F(OutputsTest, BoundTensorsAreCheckedBeforeTheRun) {
  b.outputs({y});
  TestRun run{b};
  EXPECT_EQ(refused(run, {bound(4), bound(4)}).expected(), "1");
  EXPECT_EQ(refused(run, {*Tensor::empty(ScalarType::Int, std::array<std::int64_t, 1>{4})}).code(),
            ErrorCode::InvalidType);
  EXPECT_EQ(refused(run, {*Tensor::empty(ScalarType::Float, std::array<std::int64_t, 2>{4, 1})}).code(),
            ErrorCode::InvalidArgument);
  std::array<float, 4> data{};
  const auto foreign = Tensor::from_blob(data.data(), ScalarType::Float, std::array<std::int64_t, 1>{4}, {}, {},
                                         DeviceId{DeviceType::Cuda, 0});
  EXPECT_EQ(refused(run, {*foreign}).code(), ErrorCode::InvalidArgument);
}

TEST_F(OutputsTest, OneMemoryForTwoOutputsIsRefused) {
  const auto z = b.tensor({4}, 128, true);
  b.delegate("F", {y, z}).outputs({y, z});
  TestRun run{b};
  const Tensor mine = bound(4);
  const Error error = refused(run, {mine, mine});
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error.site().argument, 1);
}

/// Eight rows of sixteen would end up on top of each other.
TEST_F(OutputsTest, BoundTensorWhoseElementsOverlapIsRefused) {
  const auto z = b.tensor({2, 2}, 128);
  b.delegate("F", {y, z}).outputs({y, z});
  TestRun run{b};
  std::vector<float> memory(8);
  const auto strided = [&memory](std::vector<std::int64_t> strides) {
    return *Tensor::from_blob(memory.data(), ScalarType::Float, std::array<std::int64_t, 2>{2, 2}, strides);
  };
  for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{0, 1}, {1, 0}, {0, 0}, {1, 1}, {3, 3}}) {
    const Error error = refused(run, {Tensor{}, strided(strides)});
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("elements of the bound tensor overlap"));
    EXPECT_EQ(error.site().method, "forward");
    EXPECT_EQ(error.site().field, "output 1");
    EXPECT_EQ(error.site().argument, 1);
    EXPECT_THAT(error.found(), ::testing::HasSubstr(base::text_of(strides)));
  }
}

TEST_F(OutputsTest, BoundTensorWithRowsApartOrTransposedIsFilled) {
  b.outputs({y});
  TestRun run{b};
  std::vector<float> memory(6, -1);
  const Tensor apart = *Tensor::from_blob(memory.data(), ScalarType::Float, std::array<std::int64_t, 1>{2},
                                          std::array<std::int64_t, 1>{3});
  ASSERT_TRUE(run.run({floats({2}, {1, 2})}, {apart}).ok());
  EXPECT_EQ(memory, (std::vector<float>{2, -1, -1, 3, -1, -1}));
  // An axis of one element has any stride.
  const Tensor one = *Tensor::from_blob(memory.data(), ScalarType::Float, std::array<std::int64_t, 1>{1},
                                        std::array<std::int64_t, 1>{0});
  ASSERT_TRUE(run.run({floats({1}, {7})}, {one}).ok());
  EXPECT_EQ(memory.front(), 8);
}

/// Their ranges meet, their elements do not.
TEST_F(OutputsTest, OutputsThatAreWovenIntoOneBufferAreFilled) {
  const auto z = b.tensor({4}, 128, true);
  b.delegate("F", {y, z}).outputs({y, z});
  TestRun run{b};
  std::vector<float> memory(4, -1);
  const auto every_second = [&memory](std::size_t first) {
    return *Tensor::from_blob(memory.data() + first, ScalarType::Float, std::array<std::int64_t, 1>{2},
                              std::array<std::int64_t, 1>{2});
  };
  const auto values = run.run({floats({2}, {1, 2})}, {every_second(0), every_second(1)});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(memory, (std::vector<float>{2, 3, 3, 4}));
  const Error error = refused(run, {every_second(0), every_second(2)});
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error.site().argument, 1);
}

/// Filled when the run is over; output 1 is read after that.
TEST_F(OutputsTest, StridedOutputOverAnInputThatIsAnOutputTooLeavesTheOldInput) {
  b.outputs({y, x});
  TestRun run{b};
  std::vector<float> memory{1, 2, -1, -1};
  const std::array<std::int64_t, 1> sizes{2};
  const Tensor in = *Tensor::from_blob(memory.data(), ScalarType::Float, sizes);
  const Tensor out = *Tensor::from_blob(memory.data(), ScalarType::Float, sizes, std::array<std::int64_t, 1>{2});
  const auto values = run.run({in}, {out, Tensor{}});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(memory, (std::vector<float>{2, 2, 3, -1}));
  EXPECT_EQ(testing::to_floats((*values)[1]), (std::vector<float>{1, 2}));
}

TEST_F(OutputsTest, NumberCannotBeBound) {
  const auto n = b.number(3);
  b.outputs({n});
  TestRun run{b};
  EXPECT_EQ(refused(run, {bound(4)}).code(), ErrorCode::InvalidType);
}

TEST_F(OutputsTest, BoundOutputOverItsOwnInputReadsTheOldInput) {
  const auto z = b.tensor({4}, 128, true);
  b.delegate("F", {x, z}).outputs({y, z});  // x is read again after y was written
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok());
  const Value mine = floats({4}, {1, 2, 3, 4});
  const auto values = run.run({mine}, {mine.tensor(), Tensor{}});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(testing::to_floats((*values)[0]), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(testing::to_floats((*values)[1]), (std::vector<float>{2, 3, 4, 5}));
}

}  // namespace
}  // namespace tandem
