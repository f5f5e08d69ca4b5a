#include "support/built_programs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

/// Misuse of the builder is an error of build(), with a name.
namespace tandem::testing {
namespace {

struct Misuse {
  const char* name;
  std::function<void(ProgramBuilder&, MethodBuilder&)> calls;
  const char* expected;  ///< Code, field or key.
};

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

const std::vector<Misuse>& misuses() {
  static const std::vector<Misuse> list{
      {"EmptyHandle", [](auto&, auto& m) { m.inputs({ValueHandle{}}); }, "InvalidArgument inputs"},
      {"HandleOfAnotherMethod", [](auto& p, auto& m) { m.kernel("aten::relu.out", {p.method("other").tensor({1})}); },
       "InvalidArgument kernel aten::relu.out"},
      {"DelegateOfAnotherMethod", [](auto& p, auto& m) { m.call(p.method("other").delegate({.id = "A"}), {}); },
       "InvalidArgument call"},
      {"ArgumentOfADelegate", [](auto&, auto& m) { m.call(m.delegate({.id = "A"}), {ValueHandle{}}); },
       "InvalidArgument call 0"},
      {"MoveOfNothing", [](auto&, auto& m) { m.move(m.number(1), ValueHandle{}); }, "InvalidArgument move"},
      {"FreeOfNothing", [](auto&, auto& m) { m.free({}); }, "InvalidArgument free"},
      {"ItemOfNothing", [](auto&, auto& m) { m.int_list_of({IntHandle{}}); }, "InvalidArgument int_list_of"},
      {"TensorItemOfNothing", [](auto&, auto& m) { m.optional_tensor_list({TensorHandle{}}); },
       "InvalidArgument optional_tensor_list"},
      {"EmptyLabel", [](auto&, auto& m) { m.place({}); }, "InvalidArgument place"},
      {"JumpToAnEmptyLabel", [](auto&, auto& m) { m.jump_if_false(m.flag(true), {}); },
       "InvalidArgument jump_if_false"},
      {"LabelNotPlaced", [](auto&, auto& m) { m.jump_if_false(m.flag(true), m.label()); },
       "InvalidArgument jump_if_false"},
      {"LabelPlacedTwice", [](auto&, auto& m) { m.place(m.here()); }, "InvalidArgument place"},
      {"LabelOfAnotherChain",
       [](auto&, auto& m) {
         const auto label = m.here();
         m.next_chain().jump_if_false(m.flag(true), label);
       },
       "InvalidArgument jump_if_false"},
      {"ArenaZero", [](auto&, auto& m) { m.tensor({.sizes = {1}, .memory = PlannedMemory{.arena = 0}}); },
       "InvalidArgument tensor"},
      {"ArenaBeyondTheLast", [](auto&, auto& m) { m.arena(256, {}); }, "InvalidArgument arena"},
      {"OffsetOverflow", [](auto&, auto& m) { m.state({.sizes = {1}, .memory = PlannedMemory{.offset = UINT64_MAX}}); },
       "InvalidArgument state"},
      {"PlannedConstant", [](auto&, auto& m) { m.constant({.sizes = {0}, .memory = PlannedMemory{}}, {}); },
       "InvalidArgument constant"},
      {"ExternalWithoutName", [](auto&, auto& m) { m.external({.sizes = {1}}); }, "InvalidArgument external"},
      {"TwoLayoutsOfOneName",
       [](auto& p, auto& m) {
         m.external({.sizes = {2}, .name = "weight"});
         m.external({.sizes = {1, 2}, .name = "weight"});
         p.external_data("weight", {});
       },
       "InvalidArgument weight"},
      {"DataAlignment", [](auto& p, auto&) { p.named_data("blob", {}, 3); }, "InvalidArgument blob"},
      {"ExternalDataAlignment", [](auto& p, auto&) { p.external_data("blob", {}, 0); }, "InvalidArgument blob"},

      // Found by the writer.
      {"TwoMethodsOfOneName", [](auto& p, auto&) { p.method("forward"); }, "InvalidProgram execution_plan[1].name"},
      {"TwoBlobsOfOneKey", [](auto& p, auto&) { p.named_data("blob", {}).named_data("blob", {}); },
       "InvalidProgram named_data[1].key"},
      {"TwoExternalBlobsOfOneKey", [](auto& p, auto&) { p.external_data("blob", {}).external_data("blob", {}); },
       "InvalidExternalData named_data[1].key"},
      {"ExternalDataTooShort",
       [](auto& p, auto& m) {
         m.external({.sizes = {2}, .name = "weight"});
         p.external_data("weight", {});
       },
       "InvalidExternalData named_data[0].tensor_layout"},
      {"ConstantTooShort",
       [](auto&, auto& m) {
         m.constant({3}, {1, 2});
       },
       "InvalidProgram execution_plan[0].values[0]"},
      {"InitialTooShort",
       [](auto&, auto& m) {
         m.state({3}, {1, 2});
       },
       "InvalidProgram execution_plan[0].values[0]"},
      {"NegativeSize", [](auto&, auto& m) { m.tensor({-1}); }, "InvalidProgram execution_plan[0].values[0].sizes[0]"},
      {"WideSize", [](auto&, auto& m) { m.tensor({std::int64_t{1} << 31}); },
       "InvalidProgram execution_plan[0].values[0].sizes[0]"},
      {"AxisTwice",
       [](auto&, auto& m) {
         m.tensor({.sizes = {1, 1}, .dim_order = {1, 1}});
       },
       "InvalidProgram execution_plan[0].values[0].dim_order"},
      {"HugeArena", [](auto&, auto& m) { m.tensor({.sizes = {1}, .memory = PlannedMemory{.offset = kHuge}}); },
       "InvalidProgram execution_plan[0].non_const_buffer_sizes[1]"},
      {"UnknownDevice",
       [](auto&, auto& m) {
         m.arena(1, {DeviceType::Hip, 0});
       },
       "InvalidProgram execution_plan[0].non_const_buffer_device[0].device_type"},
      {"ConditionOfAnotherKind", [](auto&, auto& m) { m.jump_if_false(m.number(1), m.here()); },
       "InvalidProgram execution_plan[0].chains[0].instructions[0].cond_value_index"},
  };
  return list;
}

class BuilderMisuse : public ::testing::TestWithParam<Misuse> {};

TEST_P(BuilderMisuse, IsNamed) {
  ProgramBuilder program;
  MethodBuilder& method = program.method("forward");
  GetParam().calls(program, method);
  const auto built = program.build();
  ASSERT_FALSE(built.ok());
  const ErrorSite& site = built.error().site();
  EXPECT_EQ(std::string{name_of(built.error().code())} + " " + (site.field.empty() ? site.key : site.field),
            GetParam().expected)
      << built.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(, BuilderMisuse, ::testing::ValuesIn(misuses()),
                         [](const auto& misuse) { return std::string{misuse.param.name}; });

TEST(BuilderError, IsTheFirstOne) {
  ProgramBuilder program;
  MethodBuilder& method = program.method("forward");
  method.free({}).inputs({ValueHandle{}});
  EXPECT_EQ(program.build().error().site().field, "free");
  EXPECT_EQ(program.save("/nowhere/a.pte").error().site().field, "free");
}

TEST(BuilderError, HasMethodAndArgument) {
  ProgramBuilder program;
  MethodBuilder& method = program.method("forward");
  method.outputs({method.number(1), ValueHandle{}});
  const auto built = program.build();
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().site().method, "forward");
  EXPECT_EQ(built.error().site().argument, 1);
}

TEST(BuilderOptions, ArePowersOfTwo) {
  const auto fault = [](const ProgramBuilderOptions& options) {
    const auto built = ProgramBuilder{options}.build();
    return built.ok() ? "ok" : std::string{name_of(built.error().code())} + " " + built.error().site().field;
  };
  EXPECT_EQ(fault({.segment_alignment = 0}), "InvalidArgument segment_alignment");
  EXPECT_EQ(fault({.constant_tensor_alignment = 24}), "InvalidArgument constant_tensor_alignment");
  EXPECT_EQ(fault({.delegate_alignment = 3}), "InvalidArgument delegate_alignment");
}

}  // namespace
}  // namespace tandem::testing
