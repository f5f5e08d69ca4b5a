#include "cli/json.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tandem::cli {
namespace {

TEST(NumberJsonTest, WritesTextsWhereJsonHasNoNumber) {
  EXPECT_EQ(number_json(0.5), 0.5);
  EXPECT_EQ(number_json(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number_json(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_json(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(ValueJsonTest, DescribesTensorsAndShowsOthers) {
  const std::array<std::int64_t, 2> sizes{2, 3};
  const Result<Tensor> tensor = Tensor::empty(ScalarType::Half, sizes);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(value_json(*tensor).dump(), R"({"kind":"tensor","dtype":"float16","shape":[2,3]})");
  EXPECT_EQ(value_json(Value{}).dump(), R"({"kind":"none"})");
  EXPECT_EQ(value_json(3).dump(), R"({"kind":"int","value":3})");
  EXPECT_EQ(value_json("a").dump(), R"({"kind":"string","value":"a"})");
}

TEST(ErrorJsonTest, HasEveryFieldThatApplies) {
  const Error error = Error{ErrorCode::AccessFailed, "file cannot be opened"}
                          .with_native(Origin::Errno, 13, "Permission denied")
                          .with_expected("a", "b")
                          .with_file("x.pte")
                          .with_instruction(0, 7)
                          .with_offset(0);
  const Json json = error_json(error);
  EXPECT_EQ(json["code"], "AccessFailed");
  EXPECT_EQ(json["code_number"], 0x22);
  EXPECT_EQ(json["message"], "file cannot be opened");
  EXPECT_EQ(json["expected"], "a");
  EXPECT_EQ(json["found"], "b");
  EXPECT_EQ(json["native"].dump(), R"({"origin":"errno","code":13,"text":"Permission denied"})");
  EXPECT_EQ(json["site"].dump(), R"({"file":"x.pte","chain":0,"instruction":7,"offset":0})");
  EXPECT_EQ(json["text"], error.to_string());
}

TEST(ErrorJsonTest, WritesNullForWhatDoesNotApply) {
  const Json json = error_json(Error{ErrorCode::Internal, "x"});
  EXPECT_TRUE(json["expected"].is_null());
  EXPECT_TRUE(json["native"].is_null());
  EXPECT_EQ(json["site"], Json::object());
}

TEST(ToTextTest, ReplacesBytesThatAreNoUtf8) { EXPECT_EQ(to_text(Json("a\xff")), "\"a\xEF\xBF\xBD\"\n"); }

}  // namespace
}  // namespace tandem::cli
