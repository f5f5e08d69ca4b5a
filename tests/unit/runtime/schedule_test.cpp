#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::FunctionBackend;
using testing::MethodBuilder;

TEST(ScheduleTest, DescribesItsStepsByWhatTheyCall) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  const auto x = b.tensor({4}, 0);
  const auto y = b.tensor({4}, 64);
  const auto yes = b.flag(true);
  b.inputs({x})
      .outputs({y})
      .kernel("aten::relu.out", {x, y, y})
      .next_chain()
      .delegate("F", {x, y})
      .jump_if_false(yes, 2);
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  const runtime::Schedule& schedule = **lowered;
  EXPECT_EQ(describe(schedule, schedule.steps[0]), "instruction 0 (aten::relu.out)");
  EXPECT_EQ(describe(schedule, schedule.steps[1]), "instruction 0 of chain 1 (delegate 0, F)");
  EXPECT_EQ(describe(schedule, schedule.steps[2]), "instruction 1 of chain 1 (jump)");
  EXPECT_EQ(schedule.steps[2].target, 3U);  // the end of chain 1, as a step of the whole
  const ErrorSite site = site_of(schedule, schedule.steps[1]);
  EXPECT_EQ(site.chain, 1);
  EXPECT_EQ(site.backend, "F");
}

TEST(ScheduleTest, RootsOfViewsAreWhatTheyReferTo) {
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto merged = b.tensor({4});
  const auto again = b.tensor({4});
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).move(a, merged).move(merged, again).delegate("F", {again, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  EXPECT_THAT((*lowered)->values[static_cast<std::size_t>(again)].roots,
              ::testing::ElementsAre(static_cast<std::uint32_t>(a)));
  const auto accesses = (*lowered)->accesses_of((*lowered)->steps[3]);
  EXPECT_EQ(accesses[0].begin, 64U);
}

}  // namespace
}  // namespace tandem
