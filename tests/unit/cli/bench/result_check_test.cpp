#include "cli/bench/result_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tandem::cli::bench {
namespace {

using ::testing::HasSubstr;

Tensor tensor(std::initializer_list<float> numbers) {
  const std::array<std::int64_t, 1> sizes{static_cast<std::int64_t>(numbers.size())};
  Tensor made = *Tensor::empty(ScalarType::Float, sizes);
  std::copy(numbers.begin(), numbers.end(), made.data_as<float>());
  return made;
}
std::vector<Value> outputs(std::initializer_list<float> numbers) { return {tensor(numbers)}; }

bool add(ResultCheck& check, const char* mode, std::uint64_t run, const std::vector<Value>& values) {
  const auto added = check.add(mode, run, values);
  EXPECT_TRUE(added.ok());
  return added.ok() && *added;
}

TEST(ResultCheckTest, EqualBitsAreRight) {
  ResultCheck check{false};
  EXPECT_FALSE(check.first_digest().has_value());
  for (const char* mode : {"eager", "graph"}) {
    for (std::uint64_t run = 0; run < 3; ++run) EXPECT_TRUE(add(check, mode, run, outputs({1, 2})));
  }
  EXPECT_FALSE(check.difference().has_value());
  EXPECT_TRUE(check.first_digest().has_value());
}

TEST(ResultCheckTest, NamesTheFirstWrongRun) {
  ResultCheck check{false};
  EXPECT_TRUE(add(check, "eager", 0, outputs({1, 2})));
  EXPECT_TRUE(add(check, "graph", 0, outputs({1, 2})));
  EXPECT_FALSE(add(check, "graph", 1, outputs({1, 3})));
  EXPECT_FALSE(add(check, "eager", 1, outputs({1, 2}))) << "what comes after a wrong result is of no use";
  const auto difference = check.difference();
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->mode, "graph");
  EXPECT_EQ(difference->run, 1U);
  EXPECT_THAT(difference->reason, HasSubstr("run 0 of eager gave"));
}

TEST(ResultCheckTest, EveryBitCounts) {
  ResultCheck check{false};
  EXPECT_TRUE(add(check, "eager", 0, outputs({0.0F})));
  EXPECT_FALSE(add(check, "eager", 1, outputs({-0.0F})));
}

TEST(ResultCheckTest, TheMethodMayUseItsMemoryAgain) {
  ResultCheck check{false};
  const std::vector<Value> values = outputs({1, 2});
  EXPECT_TRUE(add(check, "eager", 0, values));
  values[0].tensor().data_as<float>()[1] = 7;
  EXPECT_FALSE(add(check, "eager", 1, values));
}

TEST(ResultCheckTest, LayoutsDoNotCount) {
  ResultCheck check{false};
  std::array<float, 4> numbers{1, 3, 2, 4};
  const std::array<std::int64_t, 2> sizes{2, 2};
  const std::array<std::int64_t, 2> strides{1, 2};
  const std::vector<Value> transposed{*Tensor::from_blob(numbers.data(), ScalarType::Float, sizes, strides)};
  Tensor rows = *Tensor::empty(ScalarType::Float, sizes);
  std::ranges::copy(std::array<float, 4>{1, 2, 3, 4}, rows.data_as<float>());
  EXPECT_TRUE(add(check, "eager", 0, transposed));
  EXPECT_TRUE(add(check, "graph", 0, {rows}));
  rows.data_as<float>()[3] = 5;
  EXPECT_FALSE(add(check, "graph", 1, {rows}));
}

TEST(ResultCheckTest, NumbersAndCountsCount) {
  ResultCheck check{false};
  EXPECT_TRUE(add(check, "eager", 0, {Value{3}}));
  EXPECT_TRUE(add(check, "eager", 1, {Value{3}}));
  EXPECT_FALSE(add(check, "eager", 2, {Value{3}, Value{3}}));
}

TEST(ResultCheckTest, WithStateRunsCompareWithThoseThatCameAsOften) {
  ResultCheck check{true};
  for (const char* mode : {"eager", "again"}) {
    EXPECT_TRUE(add(check, mode, 0, outputs({1})));
    EXPECT_TRUE(add(check, mode, 1, outputs({2})));
  }
  EXPECT_TRUE(add(check, "graph", 0, outputs({1})));
  EXPECT_FALSE(add(check, "graph", 1, outputs({1})));
  EXPECT_THAT(check.difference()->reason, HasSubstr("run 1 of eager gave"));
}

TEST(ResultCheckTest, TheFirstRunMustGiveWhatIsExpected) {
  ResultCheck near{false, Expected{.outputs = outputs({1, 2})}};
  EXPECT_TRUE(add(near, "eager", 0, outputs({1, 2.000001F})));
  ResultCheck far{false, Expected{.outputs = outputs({1, 2})}};
  EXPECT_FALSE(add(far, "eager", 0, outputs({1, 2.1F})));
  EXPECT_THAT(far.difference()->reason, HasSubstr("not what is expected, output 0: "));
  ResultCheck fewer{false, Expected{.outputs = {}}};
  EXPECT_FALSE(add(fewer, "eager", 0, outputs({1})));
  EXPECT_EQ(fewer.difference()->reason, "1 outputs, and 0 are expected");
}

}  // namespace
}  // namespace tandem::cli::bench
