#include "ops/portable/tables.h"
#include "runtime/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::ops::portable {
namespace {

using runtime::Operator;
using runtime::OperatorRegistry;

constexpr std::span<const Operator> (*kTables[])() noexcept = {
    &arithmetic_operators, &compare_operators,     &copy_operators,  &create_operators,  &index_operators,
    &join_operators,       &matmul_operators,      &prim_operators,  &reduce_operators,  &shape_operators,
    &softmax_operators,    &tensor_prim_operators, &unary_operators, &upsample_operators};

TEST(BuiltinOperatorsTest, NoNameStandsTwice) {
  std::size_t count = 0;
  for (const auto table : kTables) count += table().size();
  EXPECT_EQ(OperatorRegistry::builtin().all().size(), count);
}

TEST(BuiltinOperatorsTest, EveryOperatorIsComplete) {
  for (const Operator* op : OperatorRegistry::builtin().all()) {
    EXPECT_NE(op->accept, nullptr) << op->name;
    EXPECT_NE(op->run, nullptr) << op->name;
    EXPECT_EQ(op->accesses.find_first_not_of("-srwupao="), std::string_view::npos) << op->name;
    EXPECT_NE(op->accesses.find_first_of("wupao"), std::string_view::npos) << op->name << " has no result";
  }
}

TEST(BuiltinOperatorsTest, AcceptRefusesAnotherNumberOfArguments) {
  for (const Operator* op : OperatorRegistry::builtin().all()) {
    const Status status = op->accept({});
    ASSERT_FALSE(status.ok()) << op->name;
    EXPECT_EQ(status.error().code(), ErrorCode::InvalidProgram) << op->name;
    EXPECT_EQ(status.error().expected(), std::to_string(op->accesses.size())) << op->name;
    EXPECT_EQ(status.error().found(), "0") << op->name;
  }
}

TEST(BuiltinOperatorsTest, AcceptRefusesArgumentsOfOtherKinds) {
  const ArgumentSpec text{.kind = Argument::Kind::String};
  for (const Operator* op : OperatorRegistry::builtin().all()) {
    const std::vector<const ArgumentSpec*> specs(op->accesses.size(), &text);
    const Status status = op->accept(specs);
    ASSERT_FALSE(status.ok()) << op->name;
    EXPECT_EQ(status.error().code(), ErrorCode::InvalidType) << op->name;
    EXPECT_FALSE(status.error().expected().empty()) << op->name;
    EXPECT_GE(status.error().site().argument, 0) << op->name;
  }
}

TEST(BuiltinOperatorsTest, AbsentNamesAreNotFound) {
  EXPECT_EQ(OperatorRegistry::builtin().find("aten::add"), nullptr);
  EXPECT_EQ(OperatorRegistry::builtin().find(""), nullptr);
}

}  // namespace
}  // namespace tandem::ops::portable
