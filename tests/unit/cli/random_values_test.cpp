#include "cli/random_values.h"

#include "cli/digest.h"
#include "cli/half.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tandem::cli {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::array<std::int64_t, 1> kMany{1000};

template <class T>
std::span<const T> draw(Result<Tensor>& kept, ScalarType dtype, std::uint64_t seed = 1, std::uint64_t stream = 0) {
  kept = random_tensor(dtype, kMany, seed, stream);
  EXPECT_TRUE(kept.ok());
  return {kept->data_as<T>(), 1000};
}

TEST(RandomTensorTest, GivesTheSameNumbersOnEveryMachine) {
  Result<Tensor> kept = Tensor{};
  const auto floats = draw<float>(kept, ScalarType::Float, 7, 0);
  // From another implementation of splitmix64 (Python): a change here changes what recorded `--random` runs mean.
  EXPECT_EQ(floats[0], 0x1.c5a6100000000p-2F);
  EXPECT_EQ(floats[1], 0x1.3298280000000p-2F);
  EXPECT_EQ(floats[999], 0x1.d1f5140000000p-1F);
}

TEST(RandomTensorTest, SeedsAndStreamsDiffer) {
  const auto digest = [](std::uint64_t seed, std::uint64_t stream) {
    const Result<Tensor> tensor = random_tensor(ScalarType::Float, kMany, seed, stream);
    const Value value{*tensor};
    return *digest_of({&value, 1});
  };
  EXPECT_EQ(digest(1, 0), digest(1, 0));
  EXPECT_NE(digest(1, 0), digest(2, 0));
  EXPECT_NE(digest(1, 0), digest(1, 1));
  EXPECT_NE(digest(0, 1), digest(1, 0));
}

TEST(RandomTensorTest, StaysInTheDocumentedRanges) {
  Result<Tensor> kept = Tensor{};
  const auto in_unit = [](double value) { return value >= -1 && value < 1; };
  for (const float value : draw<float>(kept, ScalarType::Float)) EXPECT_TRUE(in_unit(value));
  for (const double value : draw<double>(kept, ScalarType::Double)) EXPECT_TRUE(in_unit(value));
  for (const Float16 value : draw<Float16>(kept, ScalarType::Half)) EXPECT_TRUE(in_unit(value.value()));
  for (const BrainFloat16 value : draw<BrainFloat16>(kept, ScalarType::BFloat16)) EXPECT_TRUE(in_unit(value.value()));
  for (const std::int64_t value : draw<std::int64_t>(kept, ScalarType::Long)) EXPECT_TRUE(value >= 0 && value < 8);
  for (const std::uint8_t value : draw<std::uint8_t>(kept, ScalarType::Bool)) EXPECT_LE(value, 1);
}

TEST(RandomTensorTest, UsesTheWholeRange) {
  Result<Tensor> kept = Tensor{};
  const auto floats = draw<float>(kept, ScalarType::Float);
  EXPECT_LT(*std::min_element(floats.begin(), floats.end()), -0.9F);
  EXPECT_GT(*std::max_element(floats.begin(), floats.end()), 0.9F);
  const auto bytes = draw<std::uint8_t>(kept, ScalarType::Byte);
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), 0);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 7);
}

TEST(RandomTensorTest, NamesADtypeWithoutARule) {
  const Result<Tensor> tensor = random_tensor(ScalarType::QInt8, kMany, 1, 0);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(tensor.error().message(), HasSubstr("qint8"));
}

}  // namespace
}  // namespace tandem::cli
