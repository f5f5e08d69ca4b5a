#include "support/function_backend.h"
#include "support/method_builder.h"

#include "runtime/execute/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::MethodBuilder;
using testing::TestRun;

/// One method with every kind of input.
class InputsTest : public ::testing::Test {
 protected:
  InputsTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
    const auto fixed = b.tensor({2, 3}, 0);
    const auto bounded = b.tensor({4, 2}, 64, true);
    const auto number = b.number(5);
    const auto flag = b.flag(true);
    b.method().values.emplace_back(0.5);
    const auto real = static_cast<std::int32_t>(b.method().values.size() - 1);
    b.method().values.emplace_back(std::string_view{"mode"});
    const auto text = static_cast<std::int32_t>(b.method().values.size() - 1);
    b.method().values.emplace_back(std::monostate{});
    const auto none = static_cast<std::int32_t>(b.method().values.size() - 1);
    const auto y = b.tensor({2, 3}, 256);
    b.inputs({fixed, bounded, number, flag, real, text, none}).outputs({y}).delegate("F", {fixed, y});
    run = std::make_unique<TestRun>(b);
    EXPECT_TRUE(run->loaded().ok());
    good = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({1, 2}, {1, 2}), 5, true, 0.5, "mode", Value{}};
  }
  /// The error of a run with input `index` replaced.
  Error refused(std::size_t index, Value value) {
    std::vector<Value> values = good;
    values[index] = std::move(value);
    auto result = run->run(values);
    EXPECT_FALSE(result.ok());
    if (result.ok()) return Error{ErrorCode::Internal, "accepted"};
    EXPECT_EQ(result.error().site().argument, static_cast<int>(index));
    EXPECT_EQ(result.error().site().method, "forward");
    return std::move(result).error();
  }

  MethodBuilder b;
  std::unique_ptr<TestRun> run;
  std::vector<Value> good;
};

TEST_F(InputsTest, AcceptsWhatTheProgramWants) { EXPECT_EQ(run->floats(good), (std::vector<float>{2, 3, 4, 5, 6, 7})); }

TEST_F(InputsTest, WrongCountSaysBothCounts) {
  const auto result = run->run({good[0]});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(result.error().expected(), "7");
  EXPECT_EQ(result.error().found(), "1");
}

TEST_F(InputsTest, WrongDtypeSaysBoth) {
  const auto tensor = Tensor::empty(ScalarType::Long, std::array<std::int64_t, 2>{2, 3});
  const Error error = refused(0, *tensor);
  EXPECT_EQ(error.code(), ErrorCode::InvalidType);
  EXPECT_EQ(error.expected(), "float32[2, 3]");
  EXPECT_EQ(error.found(), "int64[2, 3]");
}

TEST_F(InputsTest, WrongRankAndSizes) {
  EXPECT_THAT(refused(0, floats({6}, {1, 2, 3, 4, 5, 6})).message(), HasSubstr("rank"));
  EXPECT_THAT(refused(0, floats({3, 2}, {1, 2, 3, 4, 5, 6})).message(), HasSubstr("size"));
  EXPECT_THAT(refused(1, floats({5, 2}, std::vector<float>(10))).message(), HasSubstr("bound"));
}

TEST_F(InputsTest, UndefinedTensorAndForeignDevice) {
  EXPECT_EQ(refused(0, Tensor{}).code(), ErrorCode::InvalidArgument);
  std::array<float, 6> data{};
  const auto foreign = Tensor::from_blob(data.data(), ScalarType::Float, std::array<std::int64_t, 2>{2, 3}, {}, {},
                                         DeviceId{DeviceType::Cuda, 1});
  const Error error = refused(0, *foreign);
  EXPECT_EQ(error.found(), "cuda:1");
}

TEST_F(InputsTest, WrongKinds) {
  for (std::size_t i = 0; i < good.size(); ++i) {
    const Value other = good[i].is_tensor() ? Value{1} : good[0];
    EXPECT_EQ(refused(i, other).code(), ErrorCode::InvalidType) << i;
  }
  EXPECT_EQ(refused(2, 5.0).code(), ErrorCode::InvalidType);
}

TEST_F(InputsTest, NumbersMustBeTheTracedOnes) {
  EXPECT_EQ(refused(2, 6).expected(), "int 5");
  EXPECT_EQ(refused(3, false).found(), "false");
  EXPECT_EQ(refused(4, 0.6).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused(4, std::numeric_limits<double>::infinity()).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused(5, "other").expected(), "'mode'");
  good[4] = 0.50001;  // within the tolerance
  EXPECT_TRUE(run->run(good).ok());
}

TEST_F(InputsTest, AnyStridesAreRead) {
  std::array<float, 6> column_major{1, 4, 2, 5, 3, 6};
  const auto tensor = Tensor::from_blob(column_major.data(), ScalarType::Float, std::array<std::int64_t, 2>{2, 3},
                                        std::array<std::int64_t, 2>{1, 2});
  good[0] = *tensor;
  EXPECT_EQ(run->floats(good), (std::vector<float>{2, 3, 4, 5, 6, 7}));
}

TEST_F(InputsTest, MisalignedMemoryIsRead) {
  alignas(16) std::array<float, 8> data{0, 1, 2, 3, 4, 5, 6, 0};
  const auto tensor = Tensor::from_blob(&data[1], ScalarType::Float, std::array<std::int64_t, 2>{2, 3});
  good[0] = *tensor;
  EXPECT_EQ(run->floats(good), (std::vector<float>{2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace tandem
