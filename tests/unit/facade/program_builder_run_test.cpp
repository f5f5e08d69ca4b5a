#include "support/built_programs.h"
#include "support/function_backend.h"
#include "unit/facade/built_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Built programs give the numbers that their instructions say.
namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

TEST(BuiltProgramRun, AddsAConstant) {
  BuiltModule module{sum_program()};
  EXPECT_THAT(module.run("forward", {2, 3}, {10, 20, 30, 40, 50, 60}), ElementsAre(12, 24, 36, 48, 60, 72));
}

TEST(BuiltProgramRun, LoopsUntilTheConditionHolds) {
  BuiltModule module{loop_program(4)};
  EXPECT_THAT(module.run("forward", {3}, {1, 2, -3}), ElementsAre(5, 10, -15));
  EXPECT_THAT(module.run("forward", {3}, {1, 0, 0}), ElementsAre(5, 0, 0));
}

TEST(BuiltProgramRun, TakesEitherBranch) {
  BuiltModule module{branch_program()};
  EXPECT_THAT(module.run("forward", {1}, {5}), ElementsAre(10));
  EXPECT_THAT(module.run("forward", {1}, {-5}), ElementsAre(25));
}

TEST(BuiltProgramRun, KeepsItsState) {
  BuiltModule module{state_program()};
  EXPECT_THAT(module.run("forward", {1}, {1}), ElementsAre(101));
  EXPECT_THAT(module.run("forward", {1}, {2}), ElementsAre(103));
  BuiltModule other{state_program()};
  EXPECT_THAT(other.run("forward", {1}, {1}), ElementsAre(101));
}

TEST(BuiltProgramRun, StartsAStateFromADataFile) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({1}), y = m.tensor({1});
  const auto total = m.external({.sizes = {1}, .memory = PlannedMemory{}, .name = "total"});
  m.kernel("aten::add.out", {total, x, m.number(1), y, y})
      .kernel("aten::copy_", {total, y, m.flag(false), total})
      .inputs({x})
      .outputs({y});
  const float start = 50;
  program.external_data("total", std::as_bytes(std::span{&start, 1}));
  BuiltModule module{program};
  EXPECT_THAT(module.run("forward", {1}, {1}), ElementsAre(51));
  EXPECT_THAT(module.run("forward", {1}, {1}), ElementsAre(52));
}

TEST(BuiltProgramRun, MethodsShareAState) {
  BuiltModule module{shared_state_program()};
  EXPECT_THAT(module.run("add", {1}, {1}), ElementsAre(1));  // starts with zeros
  EXPECT_THAT(module.run("set", {1}, {10}), ElementsAre(10));
  EXPECT_THAT(module.run("add", {1}, {2}), ElementsAre(12));
}

TEST(BuiltProgramRun, TakesAnySizeWithinTheBounds) {
  BuiltModule module{dynamic_program()};
  EXPECT_THAT(module.run("forward", {1, 2}, {1, 10}), ElementsAre(41, 52, 63));
  EXPECT_THAT(module.run("forward", {2, 2}, {1, 0, 0, 1}), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(BuiltProgramRun, UnplannedValuesGetMemory) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({2}), a = m.tensor({2}), b = m.tensor({2}), y = m.tensor({2});
  const auto one = m.number(1);
  m.kernel("aten::add.out", {x, x, one, a, a})
      .kernel("aten::mul.out", {a, x, b, b})
      .kernel("aten::sub.out", {b, a, one, y, y})
      .inputs({x})
      .outputs({y});
  BuiltModule module{program};
  EXPECT_THAT(module.run("forward", {2}, {3, 4}), ElementsAre(12, 24));
}

TEST(BuiltProgramRun, StatesAndPlannedTensorsDoNotMeet) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto first = m.state({1}, {1});
  const auto x = m.tensor({.sizes = {1}, .memory = PlannedMemory{.offset = 0}});
  const auto second = m.state({1}, {2});
  const auto a = m.tensor({.sizes = {1}, .memory = PlannedMemory{.offset = 48}});
  const auto y = m.tensor({1});
  const auto one = m.number(1);
  const auto no = m.flag(false);
  m.kernel("aten::add.out", {x, first, one, a, a})
      .kernel("aten::add.out", {a, second, one, y, y})
      .kernel("aten::copy_", {first, y, no, first})
      .kernel("aten::copy_", {second, a, no, second})
      .inputs({x})
      .outputs({y});
  BuiltModule module{program};
  EXPECT_THAT(module.run("forward", {1}, {10}), ElementsAre(13));  // then first = 13, second = 11
  EXPECT_THAT(module.run("forward", {1}, {10}), ElementsAre(34));
}

TEST(BuiltProgramRun, ChainsRunOneAfterTheOther) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({1}), a = m.tensor({1}), y = m.tensor({1});
  const auto end = m.label();
  m.kernel("aten::add.out", {x, x, m.number(1), a, a})
      .jump_if_false(m.flag(false), end)
      .kernel("aten::mul.out", {a, a, a, a})
      .place(end)
      .next_chain()
      .kernel("aten::mul.out", {a, x, y, y})
      .free(a)
      .inputs({x})
      .outputs({y});
  BuiltModule module{program};
  EXPECT_THAT(module.run("forward", {1}, {3}), ElementsAre(18));
}

TEST(BuiltProgramRun, ListsNameTheirItems) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({2, 2}), y = m.tensor({2, 4}), z = m.tensor({4, 2});
  const auto two = m.number(2), four = m.number(0);
  m.kernel("aten::cat.out", {m.tensor_list({x, x}), m.number(1), y, y})
      .kernel("executorch_prim::add.Scalar", {two, two, four})
      .kernel("aten::view_copy.out", {y, m.int_list_of({four, two}), z, z})
      .inputs({x})
      .outputs({z});
  BuiltModule module{program};
  EXPECT_THAT(module.run("forward", {2, 2}, {1, 2, 3, 4}), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST(BuiltProgramRun, CallsDelegates) {
  BackendRegistry backends;
  ASSERT_TRUE(backends.register_backend("Plus", std::make_shared<FunctionBackend>(1, add_number(0.5F))).ok());
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({2}), a = m.tensor({2}), y = m.tensor({2});
  const auto plus = m.delegate({.id = "Plus"});
  m.call(plus, {x, a}).call(plus, {a, y}).inputs({x}).outputs({y});
  BuiltModule module{program, {.backends = &backends}};
  EXPECT_THAT(module.run("forward", {2}, {1, 2}), ElementsAre(2, 3));
}

}  // namespace
}  // namespace tandem::testing
