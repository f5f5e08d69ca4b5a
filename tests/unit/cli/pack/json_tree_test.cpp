#include "cli/pack/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string place_text(const TextPlace& place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column) + "+" + std::to_string(place.offset);
}

Error refusal(std::string_view text) {
  const auto tree = parse_json_tree(text, "f.json");
  EXPECT_FALSE(tree.ok());
  return tree.ok() ? Error{ErrorCode::Internal, "accepted"} : tree.error();
}

TEST(JsonTree, TellsWhereEverythingIs) {
  const auto tree = parse_json_tree("{\n  \"a\": [1, -2.5,\ttrue],\n  \"b\" : \"x\", \"c\": null\n}\n", "f.json");
  ASSERT_TRUE(tree.ok()) << tree.error().to_string();
  EXPECT_EQ(place_text(tree->place), "1:1+0");
  ASSERT_EQ(tree->items.size(), 3U);
  const JsonNode& list = tree->items[0];
  EXPECT_EQ(list.key, "a");
  EXPECT_EQ(place_text(list.key_place), "2:3+4");
  EXPECT_EQ(place_text(list.place), "2:8+9");
  EXPECT_EQ(place_text(list.items[0].place), "2:9+10");
  EXPECT_EQ(place_text(list.items[1].place), "2:12+13");
  EXPECT_EQ(place_text(list.items[2].place), "2:18+19");
  EXPECT_EQ(place_text(tree->items[1].key_place), "3:3+28");
  EXPECT_EQ(place_text(tree->items[1].place), "3:9+34");
  EXPECT_EQ(place_text(tree->items[2].place), "3:19+44");
}

TEST(JsonTree, KeepsKindsAndValues) {
  const auto tree = parse_json_tree(R"([null, false, 9223372036854775807, -3, 1e3, "t", [], {}])", "f.json");
  ASSERT_TRUE(tree.ok()) << tree.error().to_string();
  using Kind = JsonNode::Kind;
  const Kind kinds[] = {Kind::Null,   Kind::Bool, Kind::Int,  Kind::Int,
                        Kind::Double, Kind::Text, Kind::List, Kind::Object};
  for (std::size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(tree->items[i].kind, kinds[i]) << i;
  EXPECT_EQ(std::get<bool>(tree->items[1].scalar), false);
  EXPECT_EQ(std::get<std::int64_t>(tree->items[2].scalar), INT64_MAX);
  EXPECT_EQ(std::get<std::int64_t>(tree->items[3].scalar), -3);
  EXPECT_EQ(std::get<double>(tree->items[4].scalar), 1000);
  EXPECT_EQ(std::get<std::string>(tree->items[5].scalar), "t");
}

TEST(JsonTree, CommentsAndEscapesDoNotMovePlaces) {
  const auto tree = parse_json_tree("\xEF\xBB\xBF[ // \"no, [\n 1/* [ * */,\"\\\"]\\\\\",/**/ 2 ]", "f.json");
  ASSERT_TRUE(tree.ok()) << tree.error().to_string();
  ASSERT_EQ(tree->items.size(), 3U);
  EXPECT_EQ(place_text(tree->items[0].place), "2:2+16");
  EXPECT_EQ(std::get<std::string>(tree->items[1].scalar), "\"]\\");
  EXPECT_EQ(tree->items[1].place.column, 13U);
  EXPECT_EQ(tree->items[2].place.column, 26U);
}

TEST(JsonTree, ColumnsCountCharacters) {
  const auto tree = parse_json_tree("{\"größe\": 1}", "f.json");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->items[0].place.column, 11U);
  EXPECT_EQ(tree->items[0].place.offset, 12U);
}

TEST(JsonTree, SyntaxErrorsHaveLineAndColumn) {
  const Error error = refusal("{\n  \"a\": 1,\n  \"b\" 2\n}");
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.message(), StartsWith("f.json:3:7: syntax error"));
  EXPECT_EQ(error.site().file, "f.json");
  EXPECT_EQ(error.site().offset, 18U);
}

TEST(JsonTree, RefusesAKeyThatIsThereTwice) {
  const Error error = refusal("{\"a\": 1,\n\"b\": {\"a\": 2},\n \"a\": 3}");
  EXPECT_EQ(error.message(), "f.json:3:2: the key 'a' is here twice; first in line 1");
}

TEST(JsonTree, RefusesWholeNumbersBeyond64Bits) {
  for (const char* text : {"[9223372036854775808]", "[123456789012345678901234567890]"}) {
    EXPECT_THAT(refusal(text).message(), StartsWith("f.json:1:2: a whole number beyond 64 bits")) << text;
  }
  EXPECT_THAT(refusal("[1e999]").message(), HasSubstr("f.json:1:"));
}

TEST(JsonTree, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json_tree(nested(kMaxJsonDepth), "f.json").ok());
  EXPECT_EQ(refusal(nested(kMaxJsonDepth + 1)).message(), "f.json:1:33: nested deeper than 32 levels");
  EXPECT_THAT(refusal(nested(1000000)).message(), HasSubstr("nested deeper"));
}

TEST(JsonTree, RefusesWhatIsNoJson) {
  for (const char* text : {"", " ", "{", "[1,]", "[1] 2", "nul", "\"\x01\"", "[\"\xff\"]", "// only"}) {
    EXPECT_THAT(refusal(text).message(), StartsWith("f.json:1:")) << text;
  }
}

}  // namespace
}  // namespace tandem::cli
