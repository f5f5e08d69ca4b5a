#include "backends/tensorrt/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem::tensorrt {
namespace {

using ::testing::ElementsAre;

EngineTensor tensor(std::string name, bool is_input, std::vector<std::int64_t> sizes = {2, 3}) {
  EngineTensor made;
  made.name = std::move(name);
  made.is_input = is_input;
  made.sizes = made.least = made.most = std::move(sizes);
  made.dtype = ScalarType::Float;
  made.type_name = "float32";
  made.format_name = "linear";
  return made;
}

std::vector<EngineTensor> named(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::vector<EngineTensor> tensors;
  for (const std::string& name : inputs) tensors.push_back(tensor(name, true));
  for (const std::string& name : outputs) tensors.push_back(tensor(name, false));
  return tensors;
}

Blob blob(std::vector<std::string> inputs, std::vector<std::string> outputs, std::vector<BlobAlias> aliases = {}) {
  Blob made;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.aliases = std::move(aliases);
  return made;
}

/// The field of the InvalidProgram that comes of it.
std::string refused(const Blob& blob, const std::vector<EngineTensor>& tensors) {
  const auto bindings = find_bindings(blob, tensors);
  if (bindings.ok()) return "accepted";
  EXPECT_EQ(bindings.error().code(), ErrorCode::InvalidProgram);
  return bindings.error().site().field;
}

TEST(BindingNamesTest, TheBlobSaysWhichArgumentIsWhichTensor) {
  const auto bindings = find_bindings(blob({"b", "a"}, {"y"}), named({"a", "b"}, {"y"}));
  ASSERT_TRUE(bindings.ok()) << bindings.error().to_string();
  EXPECT_THAT(bindings->inputs, ElementsAre(1, 0));
  EXPECT_THAT(bindings->outputs, ElementsAre(2));
}

TEST(BindingNamesTest, NamesThatTheEngineLacksOrTheBlobLeavesOutAreRefused) {
  EXPECT_EQ(refused(blob({"a"}, {"y"}), named({"b"}, {"y"})), "a");
  EXPECT_EQ(refused(blob({"a"}, {"y"}), named({"a", "b"}, {"y"})), "b");
  EXPECT_EQ(refused(blob({"a"}, {}), named({"a"}, {"y"})), "y");
  EXPECT_EQ(refused(blob({"y"}, {"a"}), named({"a"}, {"y"})), "y");  // the other way round
}

TEST(BindingNamesTest, WithoutNamesTheEnginesNumbersTell) {
  const auto bindings = find_bindings(blob({}, {}), named({"x_1", "in.put.2", "arg0_0"}, {"output_1", "output.0"}));
  ASSERT_TRUE(bindings.ok()) << bindings.error().to_string();
  EXPECT_THAT(bindings->inputs, ElementsAre(2, 0, 1));
  EXPECT_THAT(bindings->outputs, ElementsAre(4, 3));
}

TEST(BindingNamesTest, NumbersThatDoNotCountAreRefused) {
  EXPECT_EQ(refused(blob({}, {}), named({"x"}, {"y_0"})), "x");
  EXPECT_EQ(refused(blob({}, {}), named({"x_"}, {"y_0"})), "x_");
  EXPECT_EQ(refused(blob({}, {}), named({"x_0a"}, {"y_0"})), "x_0a");
  EXPECT_EQ(refused(blob({}, {}), named({"x_-0"}, {"y_0"})), "x_-0");
  EXPECT_EQ(refused(blob({}, {}), named({"x_0", "z_2"}, {"y_0"})), "z_2");    // a gap
  EXPECT_EQ(refused(blob({}, {}), named({"x_0", "z.00"}, {"y_0"})), "z.00");  // twice
  EXPECT_EQ(refused(blob({}, {}), named({"x_99999999999999999999"}, {"y_0"})), "x_99999999999999999999");
}

TEST(AliasTest, TheEngineAndTheBlobMustAgreeOnACache) {
  auto tensors = named({"token", "cache"}, {"y", "new_cache"});
  const Blob told = blob({"token", "cache"}, {"y", "new_cache"}, {{"new_cache", "cache"}});
  EXPECT_EQ(refused(told, tensors), "new_cache");  // the engine writes elsewhere
  tensors[3].alias_of = 0;
  EXPECT_EQ(refused(told, tensors), "new_cache");  // the engine writes over the token
  tensors[3].alias_of = 1;
  const auto bindings = find_bindings(told, tensors);
  ASSERT_TRUE(bindings.ok()) << bindings.error().to_string();
  EXPECT_THAT(bindings->alias_of, ElementsAre(std::nullopt, std::optional<std::size_t>{1}));
}

TEST(AliasTest, WhatTheEngineDoesHoldsWithoutTheBlob) {
  auto tensors = named({"x"}, {"y"});
  tensors[1].alias_of = 0;
  const auto bindings = find_bindings(blob({"x"}, {"y"}), tensors);
  ASSERT_TRUE(bindings.ok());
  EXPECT_THAT(bindings->alias_of, ElementsAre(std::optional<std::size_t>{0}));
}

TEST(AliasTest, AUsersAliasNeedsTheSameShapeAndType) {
  auto tensors = named({"x"}, {"y"});
  const Blob told = blob({"x"}, {"y"}, {{"y", "x", BlobAlias::Kind::User}});
  EXPECT_EQ(refused(told, tensors), "accepted");
  tensors[1].dtype = ScalarType::Half;
  EXPECT_EQ(refused(told, tensors), "y");
  tensors[1].dtype = ScalarType::Float;
  tensors[1].sizes = {3, 2};
  EXPECT_EQ(refused(told, tensors), "y");
}

TEST(AliasTest, UnknownNamesAreRefused) {
  const auto tensors = named({"x"}, {"y"});
  EXPECT_EQ(refused(blob({"x"}, {"y"}, {{"z", "x"}}), tensors), "z");
  EXPECT_EQ(refused(blob({"x"}, {"y"}, {{"y", "w"}}), tensors), "w");
}

class CheckArgumentsTest : public ::testing::Test {
 protected:
  static ArgumentSpec spec(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> order) {
    ArgumentSpec made;
    made.kind = Argument::Kind::Tensor;
    made.sizes = sizes;
    made.dim_order = order;
    return made;
  }
  Status check() {
    const auto bindings = find_bindings(blob({"x"}, {"y"}), tensors);
    EXPECT_TRUE(bindings.ok());
    return check_arguments(*bindings, tensors, arguments);
  }
  void expect_refused(ErrorCode code, int argument, const std::string& field) {
    const Status checked = check();
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code(), code) << checked.error().to_string();
    EXPECT_EQ(checked.error().site().argument, argument);
    EXPECT_EQ(checked.error().site().field, field);
  }

  std::vector<EngineTensor> tensors = named({"x"}, {"y"});
  std::vector<std::int64_t> sizes{2, 3};
  std::vector<std::uint8_t> order{0, 1};
  std::vector<std::uint8_t> turned{1, 0};
  std::vector<ArgumentSpec> arguments{spec(sizes, order), spec(sizes, order)};
};

TEST_F(CheckArgumentsTest, WhatFitsIsTaken) {
  EXPECT_TRUE(check().ok());
  arguments[1].kind = Argument::Kind::None;  // nobody wants the output
  EXPECT_TRUE(check().ok());
}

TEST_F(CheckArgumentsTest, AnotherCountIsRefused) {
  arguments.pop_back();
  EXPECT_EQ(check().error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(check().error().found(), "1 arguments");
}

TEST_F(CheckArgumentsTest, NumbersAreRefused) {
  arguments[0].kind = Argument::Kind::Int;
  expect_refused(ErrorCode::InvalidProgram, 0, "x");
}

TEST_F(CheckArgumentsTest, AnotherDtypeIsRefused) {
  tensors[1].dtype = ScalarType::Half;
  expect_refused(ErrorCode::InvalidType, 1, "y");
  EXPECT_EQ(check().error().expected(), "float16");
  EXPECT_EQ(check().error().found(), "float32");
}

TEST_F(CheckArgumentsTest, TypesThatNoProgramHasAreNamed) {
  tensors[0].dtype.reset();
  tensors[0].type_name = "kINT4";
  expect_refused(ErrorCode::InvalidType, 0, "x");
  EXPECT_EQ(check().error().expected(), "kINT4");
}

TEST_F(CheckArgumentsTest, FormatsThatAreNotLinearAreNamed) {
  tensors[0].is_linear = false;
  tensors[0].format_name = "Channel major FP16 format";
  expect_refused(ErrorCode::NotSupported, 0, "x");
  EXPECT_EQ(check().error().found(), "Channel major FP16 format");
}

TEST_F(CheckArgumentsTest, ShapeValuesAndHostTensorsAreRefused) {
  tensors[0].is_shape_value = true;
  expect_refused(ErrorCode::NotSupported, 0, "x");
  tensors[0].is_shape_value = false;
  tensors[1].is_on_host = true;
  expect_refused(ErrorCode::NotSupported, 1, "y");
}

TEST_F(CheckArgumentsTest, AnotherOrderOfAxesIsRefused) {
  arguments[0].dim_order = turned;
  expect_refused(ErrorCode::NotSupported, 0, "x");
}

TEST_F(CheckArgumentsTest, AnotherRankIsRefused) {
  tensors[1].sizes = {6};
  expect_refused(ErrorCode::InvalidProgram, 1, "y");
}

TEST_F(CheckArgumentsTest, NoAxesPassForOneElement) {
  tensors[1].sizes = {1};
  arguments[1].sizes = {};
  arguments[1].dim_order = {};
  EXPECT_TRUE(check().ok());
}

TEST_F(CheckArgumentsTest, FixedSizesAreHeldAgainstTheProfile) {
  tensors[0].most = {2, 2};
  expect_refused(ErrorCode::InvalidArgument, 0, "x[1]");
  EXPECT_EQ(check().error().expected(), "3 to 2");
  arguments[0].dynamic = true;  // an upper bound says nothing of what comes
  EXPECT_TRUE(check().ok());
}

TEST(ProfileTest, NamesAxisAndBounds) {
  EngineTensor x = tensor("x", true);
  x.least = {1, 3};
  x.most = {8, 3};
  const std::vector<std::int64_t> good{8, 3};
  const std::vector<std::int64_t> large{9, 3};
  const std::vector<std::int64_t> small{0, 3};
  EXPECT_TRUE(check_profile(x, 4, good).ok());
  const Status refused = check_profile(x, 4, large);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().site().argument, 4);
  EXPECT_EQ(refused.error().site().field, "x[0]");
  EXPECT_EQ(refused.error().expected(), "1 to 8");
  EXPECT_EQ(refused.error().found(), "9");
  EXPECT_FALSE(check_profile(x, 4, small).ok());
  EXPECT_FALSE(check_profile(x, 4, std::span{good}.first(1)).ok());
}

}  // namespace
}  // namespace tandem::tensorrt
