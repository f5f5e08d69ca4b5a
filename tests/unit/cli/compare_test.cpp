#include "cli/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace tandem::cli {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Value tensor_of(ScalarType dtype, const std::vector<T>& elements, std::vector<std::int64_t> sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<std::int64_t>(elements.size())};
  Result<Tensor> tensor = Tensor::empty(dtype, sizes);
  EXPECT_TRUE(tensor.ok());
  std::memcpy(tensor->data(), elements.data(), elements.size() * sizeof(T));
  return *tensor;
}

Value floats(const std::vector<float>& elements) { return tensor_of(ScalarType::Float, elements); }

TEST(CompareTest, AllowsAbsoluteAndRelativeTolerance) {
  const Tolerance tolerance{0.1, 0.01};
  EXPECT_TRUE(compare(floats({10.9F}), floats({10}), tolerance).matched);
  EXPECT_FALSE(compare(floats({11.1F}), floats({10}), tolerance).matched);
  EXPECT_TRUE(compare(floats({0.009F}), floats({0}), tolerance).matched);
  EXPECT_FALSE(compare(floats({0.011F}), floats({0}), tolerance).matched);
}

TEST(CompareTest, ScalesTheRelativeToleranceByTheExpectedValue) {
  const Tolerance tolerance{0.1, 0};
  EXPECT_TRUE(compare(floats({9}), floats({10}), tolerance).matched);
  EXPECT_FALSE(compare(floats({10}), floats({9}), tolerance).matched);
}

TEST(CompareTest, ReportsTheLargestErrorAndTheFirstMismatch) {
  const Value found = tensor_of<float>(ScalarType::Float, {1, 2.5F, 3, 7}, {2, 2});
  const Value expected = tensor_of<float>(ScalarType::Float, {1, 2, 3, 4}, {2, 2});
  const Comparison result = compare(found, expected, {});
  EXPECT_FALSE(result.matched);
  EXPECT_EQ(result.max_abs_error, 3);
  EXPECT_EQ(result.reason, "2 of 4 elements differ, first at [0, 1]: expected 2, found 2.5");
}

TEST(CompareTest, ReportsTheErrorOfMatchesToo) {
  const Comparison result = compare(floats({1.25F}), floats({1}), {0.5, 0});
  EXPECT_TRUE(result.matched);
  EXPECT_EQ(result.max_abs_error, 0.25);
  EXPECT_EQ(result.reason, "");
}

TEST(CompareTest, MatchesEqualInfinitiesAndNanWithNan) {
  const auto inf = static_cast<float>(kInf);
  const auto nan = static_cast<float>(kNan);
  const Comparison same = compare(floats({inf, -inf, nan}), floats({inf, -inf, nan}), {0, 0});
  EXPECT_TRUE(same.matched);
  EXPECT_EQ(same.max_abs_error, 0);
  for (const float other : {-inf, nan, 1.0F}) {
    const Comparison result = compare(floats({other}), floats({inf}), {1, 1});
    EXPECT_FALSE(result.matched) << other;
    EXPECT_EQ(result.max_abs_error, kInf);
  }
  EXPECT_FALSE(compare(floats({1}), floats({nan}), {1, 1}).matched);
}

TEST(CompareTest, TakesWholeNumbersAndTruthValuesExactly) {
  const Tolerance loose{1, 100};
  const std::vector<std::int64_t> low{INT64_MIN};
  const std::vector<std::int64_t> high{INT64_MAX};
  const Comparison result = compare(tensor_of(ScalarType::Long, low), tensor_of(ScalarType::Long, high), loose);
  EXPECT_FALSE(result.matched);
  EXPECT_EQ(result.max_abs_error, 0x1p64);
  EXPECT_FALSE(compare(Value{3}, Value{4}, loose).matched);
  EXPECT_FALSE(compare(Value{true}, Value{false}, loose).matched);
  const std::vector<std::uint8_t> one{1};
  const std::vector<std::uint8_t> two{2};
  EXPECT_TRUE(compare(tensor_of(ScalarType::Bool, two), tensor_of(ScalarType::Bool, one), {}).matched)
      << "any byte but 0 is true";
  EXPECT_FALSE(compare(tensor_of(ScalarType::Byte, two), tensor_of(ScalarType::Byte, one), loose).matched);
}

TEST(CompareTest, ComparesHalfAndBfloat16AsNumbers) {
  const std::vector<std::uint16_t> one_half_bits{0x3C00};   // 1
  const std::vector<std::uint16_t> next_half_bits{0x3C01};  // 1 + 2^-10
  const Comparison half =
      compare(tensor_of(ScalarType::Half, next_half_bits), tensor_of(ScalarType::Half, one_half_bits), {0.001, 0});
  EXPECT_TRUE(half.matched);
  EXPECT_EQ(half.max_abs_error, 0x1p-10);
  const std::vector<std::uint16_t> one_brain_bits{0x3F80};
  const std::vector<std::uint16_t> next_brain_bits{0x3F81};  // 1 + 2^-7
  EXPECT_EQ(
      compare(tensor_of(ScalarType::BFloat16, next_brain_bits), tensor_of(ScalarType::BFloat16, one_brain_bits), {})
          .max_abs_error,
      0x1p-7);
}

TEST(CompareTest, MeasuresComplexNumbersByTheirDistance) {
  using Complex = std::complex<float>;
  const Comparison result = compare(tensor_of<Complex>(ScalarType::ComplexFloat, {{3, 4}}),
                                    tensor_of<Complex>(ScalarType::ComplexFloat, {{0, 0}}), {0, 4.9});
  EXPECT_FALSE(result.matched);
  EXPECT_EQ(result.max_abs_error, 5);
}

TEST(CompareTest, ComparesOtherTypesByteByByte) {
  const std::vector<std::uint8_t> a{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint8_t> b = a;
  EXPECT_TRUE(
      compare(tensor_of(ScalarType::ComplexHalf, a, {2}), tensor_of(ScalarType::ComplexHalf, b, {2}), {}).matched);
  b[5] = 0;
  const Comparison result =
      compare(tensor_of(ScalarType::ComplexHalf, b, {2}), tensor_of(ScalarType::ComplexHalf, a, {2}), {1, 1});
  EXPECT_FALSE(result.matched);
  EXPECT_THAT(result.reason, HasSubstr("first at [1]"));
}

TEST(CompareTest, RefusesOtherKindsDtypesAndShapes) {
  const Comparison kind = compare(Value{1.0}, Value{1}, {});
  EXPECT_EQ(kind.reason, "expected int, found double");
  EXPECT_EQ(kind.max_abs_error, kInf);
  const std::vector<double> doubles{1};
  EXPECT_EQ(compare(tensor_of(ScalarType::Double, doubles), floats({1}), {}).reason,
            "expected float32 1, found float64 1");
  EXPECT_EQ(compare(tensor_of<float>(ScalarType::Float, {1, 2}, {1, 2}), floats({1, 2}), {}).reason,
            "expected float32 2, found float32 1x2");
}

TEST(CompareTest, ComparesLogicalElementsWhateverTheStrides) {
  std::array<float, 4> transposed{1, 3, 2, 4};
  const std::array<std::int64_t, 2> sizes{2, 2};
  const std::array<std::int64_t, 2> strides{1, 2};
  const Result<Tensor> found = Tensor::from_blob(transposed.data(), ScalarType::Float, sizes, strides);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(compare(*found, tensor_of<float>(ScalarType::Float, {1, 2, 3, 4}, {2, 2}), {0, 0}).matched);
}

TEST(CompareTest, ComparesNumbersTextsAndNone) {
  EXPECT_TRUE(compare(Value{}, Value{}, {}).matched);
  EXPECT_TRUE(compare(Value{1.0}, Value{1.0 + 1e-9}, {}).matched);
  EXPECT_FALSE(compare(Value{1.0}, Value{1.1}, {}).matched);
  EXPECT_TRUE(compare(Value{"a"}, Value{"a"}, {}).matched);
  EXPECT_EQ(compare(Value{"a"}, Value{"b"}, {}).reason, "expected \"b\", found \"a\"");
}

TEST(ComparisonTest, MergeKeepsTheFirstReasonAndTheLargestError) {
  Comparison all;
  all.merge({true, 0.5, ""});
  all.merge({false, 0.25, "first"});
  all.merge({false, 2, "second"});
  EXPECT_FALSE(all.matched);
  EXPECT_EQ(all.max_abs_error, 2);
  EXPECT_EQ(all.reason, "first");
}

}  // namespace
}  // namespace tandem::cli
