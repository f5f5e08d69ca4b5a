#include "cli/picture/svg.h"

#include "unit/cli/picture/xml_check.h"

#include <gtest/gtest.h>

#include <set>

namespace tandem::cli {
namespace {

using testing::xml_fault;

TEST(XmlTextTest, EscapesMarkupAndWhatXmlCannotHold) {
  EXPECT_EQ(xml_text("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(xml_text("größe 数"), "größe 数");
  EXPECT_EQ(xml_text(std::string_view{"\0\x1b\xff", 3}), "\\x00\\x1b\\xff");
  EXPECT_EQ(xml_text("\xEF\xBF\xBE|\xEF\xBF\xBF"), "\xEF\xBF\xBD|\xEF\xBF\xBD") << "U+FFFE and U+FFFF";
}

TEST(ShortenedTest, KeepsWholeCharacters) {
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("größer", 5), "größ…");
  EXPECT_EQ(shortened("数数数", 2), "数…");
  EXPECT_EQ(shortened(std::string(1'000'000, 'x'), 4), "xxx…");
}

TEST(RoundedPathTest, CutsCornersButNotMoreThanHalfOfALine) {
  EXPECT_EQ(rounded_path({{0, 0}, {10, 0}}, 5), "M0.0 0.0L10.0 0.0");
  EXPECT_EQ(rounded_path({{0, 0}, {20, 0}, {20, 4}}, 5), "M0.0 0.0L15.0 0.0Q20.0 0.0 20.0 2.0L20.0 4.0");
  EXPECT_EQ(rounded_path({{1, 1}, {1, 1}, {1, 1}}, 5), "M1.0 1.0L1.0 1.0Q1.0 1.0 1.0 1.0L1.0 1.0");
}

TEST(SvgDocumentTest, IsWellFormedAndBringsItsGround) {
  const std::string svg = svg_document(100.4, 50, "a & b", {"#123456"}, svg_text(1, 2, "<x>"));
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("viewBox='0 0 101 50'"), std::string::npos);
  EXPECT_NE(svg.find("<rect width='101' height='50'"), std::string::npos);
  EXPECT_NE(svg.find("id='arrow-123456'"), std::string::npos);
  EXPECT_EQ(arrow_of("#123456"), "url(#arrow-123456)");
}

TEST(BackendColourTest, IsDistinctForEight) {
  std::set<std::string_view> lines;
  for (std::size_t i = 0; i < 8; ++i) lines.insert(backend_colour(i).line);
  EXPECT_EQ(lines.size(), 8U);
  EXPECT_EQ(backend_colour(9).line, backend_colour(1).line);
}

TEST(XmlCheckTest, FindsFaults) {
  EXPECT_EQ(xml_fault("<a b='>'><c/>x</a>"), "");
  EXPECT_NE(xml_fault("<a>"), "");
  EXPECT_NE(xml_fault("<a></b>"), "");
  EXPECT_NE(xml_fault("<a>&</a>"), "");
  EXPECT_NE(xml_fault("<a b='x>"), "");
  EXPECT_NE(xml_fault("<a><</a>"), "");
}

}  // namespace
}  // namespace tandem::cli
