#include "cli/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseValueTest, ReadsEveryKind) {
  const auto parsed = [](std::string_view text) {
    Result<Value> value = parse_value(text);
    EXPECT_TRUE(value.ok()) << text;
    return value.ok() ? *value : Value{};
  };
  EXPECT_TRUE(parsed("none").is_none());
  EXPECT_EQ(parsed("int:-3").to_int(), -3);
  EXPECT_EQ(parsed("int:9223372036854775807").to_int(), INT64_MAX);
  EXPECT_EQ(parsed("float:0.5").to_double(), 0.5);
  EXPECT_EQ(parsed("float:-inf").to_double(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed("float:3").to_double(), 3.0);
  EXPECT_TRUE(parsed("bool:true").to_bool());
  EXPECT_FALSE(parsed("bool:0").to_bool());
  EXPECT_EQ(parsed("string:int:3").to_text(), "int:3");
  EXPECT_EQ(parsed("string:").to_text(), "");
  EXPECT_TRUE(parsed(TANDEM_FIXTURES "/add/forward_0_in0.npy").is_tensor());
}

class ParseValueErrorTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ParseValueErrorTest, ShowsTheTextAndTheForm) {
  const Result<Value> value = parse_value(GetParam());
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(value.error().found(), GetParam());
  EXPECT_FALSE(value.error().expected().empty());
}

INSTANTIATE_TEST_SUITE_P(All, ParseValueErrorTest,
                         ::testing::Values("int:", "int:3x", "int:0.5", "int:9223372036854775808", "int: 3",
                                           "float:", "float:one", "float:1e999", "bool:", "bool:yes"));

TEST(ParseValueTest, TakesOtherTextsAsFileNames) {
  const Result<Value> value = parse_value("flaot:0.5");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(value.error().site().file, "flaot:0.5");
}

TEST(ParseIndexedShapeTest, ReadsIndexAndSizes) {
  const auto shape = parse_indexed_shape("12:2x0x4");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->first, 12U);
  EXPECT_THAT(shape->second, ElementsAre(2, 0, 4));
}

TEST(ParseIndexedShapeTest, ShowsTheFormThatIsExpected) {
  for (const char* text : {"", "2x3", "0:", ":2", "0:2x", "0:x2", "0:-2", "0:2,3", "-1:2", "0:99999999999999999999"}) {
    const auto shape = parse_indexed_shape(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_THAT(shape.error().expected(), HasSubstr("0:2x3x4"));
  }
}

TEST(ShortTextTest, ShowsNumbersTextsAndFirstElements) {
  std::array<float, 4> data{0.5F, -1, 3, 4};
  const std::array<std::int64_t, 2> sizes{2, 2};
  const std::array<std::int64_t, 2> strides{1, 2};
  const Result<Tensor> tensor = Tensor::from_blob(data.data(), ScalarType::Float, sizes, strides);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(short_text(*tensor), "0.5 3 -1 4") << "in logical order";
  EXPECT_EQ(short_text(*tensor, 2), "0.5 3 ...");
  EXPECT_EQ(short_text(Value{}), "none");
  EXPECT_EQ(short_text(7), "7");
  EXPECT_EQ(short_text(true), "true");
  EXPECT_EQ(short_text("a\nb"), "\"a\\x0ab\"");
}

TEST(TypeTextTest, ShowsDtypeAndShape) {
  const std::array<std::int64_t, 2> sizes{2, 3};
  const Result<Tensor> tensor = Tensor::empty(ScalarType::BFloat16, sizes);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(type_text(*tensor), "bfloat16 2x3");
  EXPECT_EQ(type_text(0.5), "double");
}

}  // namespace
}  // namespace tandem::cli
