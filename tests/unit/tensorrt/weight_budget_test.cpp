#include "backends/tensorrt/weight_budget.h"

#include "support/reference_engine/reference_engine.h"
#include "support/reference_engine/reference_provider.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem::tensorrt {
namespace {

using testing::HostRunner;
using testing::ReferenceEngine;
using testing::ReferenceProvider;

Result<std::optional<std::int64_t>> read(const BackendOptions* options, const std::vector<std::string>& specs = {}) {
  std::vector<CompileSpec> list;
  for (const std::string& spec : specs) list.push_back({kWeightBudgetKey, std::as_bytes(std::span{spec})});
  LoadContext context;
  context.options = options;
  context.compile_specs = list;
  return read_weight_budget(context);
}

TEST(WeightBudgetTest, TheOptionGoesBeforeTheProgram) {
  BackendOptions options;
  options.set_option(kWeightBudgetKey, "2147483648");
  EXPECT_EQ(*read(&options, {"7"}), 2147483648);
  options.set_option(kWeightBudgetKey, 12);
  EXPECT_EQ(*read(&options, {"7"}), 12);
  EXPECT_EQ(*read(nullptr, {"7"}), 7);
  EXPECT_EQ(*read(nullptr), std::nullopt);
}

TEST(WeightBudgetTest, AnEmptyOptionCountsAsNone) {
  BackendOptions options;
  options.set_option(kWeightBudgetKey, "");
  EXPECT_EQ(*read(&options, {"7"}), 7);
  EXPECT_EQ(*read(&options), std::nullopt);
}

TEST(WeightBudgetTest, MalformedOptionsAreRefused) {
  BackendOptions options;
  for (const std::string& text : {std::string{"-1"}, std::string{"1 "}, std::string{"0x10"}, std::string{"1.5"},
                                  std::string{"9223372036854775808"}, std::string(257, '0'), std::string{"+1"}}) {
    options.set_option(kWeightBudgetKey, text);
    const auto budget = read(&options);
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_EQ(budget.error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(budget.error().site().key, "weight_streaming_budget");
  }
  options.set_option(kWeightBudgetKey, -1);
  EXPECT_EQ(read(&options).error().code(), ErrorCode::InvalidArgument);
  options.set_option(kWeightBudgetKey, true);
  EXPECT_EQ(read(&options).error().code(), ErrorCode::InvalidType);
}

TEST(WeightBudgetTest, MalformedCompileSpecsAreRefused) {
  for (const std::string text : {"", "x", "-1"}) {
    const auto budget = read(nullptr, {text});
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_EQ(budget.error().code(), ErrorCode::InvalidProgram);
  }
  EXPECT_EQ(read(nullptr, {"1", "1"}).error().code(), ErrorCode::InvalidProgram);
}

class ApplyBudgetTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine(std::int64_t streamable) {
    ReferenceEngine spec = ReferenceEngine::affine({1}, 1, 0);
    spec.streamable_bytes = streamable;
    const std::string bytes = spec.serialize();
    return *provider.deserialize(std::as_bytes(std::span{bytes}), {});
  }
  HostRunner runner;
  ReferenceProvider provider{runner};
};

TEST_F(ApplyBudgetTest, AnEngineThatStreamsNothingIsLeftAlone) {
  EXPECT_TRUE(apply_weight_budget(*engine(0), 5).ok());
  EXPECT_TRUE(apply_weight_budget(*engine(0), std::nullopt).ok());
  EXPECT_EQ(provider.counts().budgets, 0);
}

TEST_F(ApplyBudgetTest, MoreThanThereIsMeansAll) {
  EXPECT_TRUE(apply_weight_budget(*engine(5000), 400).ok());
  EXPECT_EQ(provider.counts().budget, 400);
  EXPECT_TRUE(apply_weight_budget(*engine(5000), 1 << 20).ok());
  EXPECT_EQ(provider.counts().budget, 5000);
}

TEST_F(ApplyBudgetTest, WithoutABudgetTheLibraryChoosesAndNothingIsTheLastResort) {
  EXPECT_TRUE(apply_weight_budget(*engine(5000), std::nullopt).ok());
  EXPECT_EQ(provider.counts().budget, 1000);
  provider.automatic_budget_fails = true;
  EXPECT_TRUE(apply_weight_budget(*engine(5000), std::nullopt).ok());
  EXPECT_EQ(provider.counts().budget, 0);
}

TEST_F(ApplyBudgetTest, ABudgetThatWasAskedForMustBeHad) {
  provider.explicit_budget_fails = true;
  const Status applied = apply_weight_budget(*engine(5000), 400);
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().native().text, "the budget cannot be had");
}

}  // namespace
}  // namespace tandem::tensorrt
