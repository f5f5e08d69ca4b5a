#include "cli/text.h"

#include <gtest/gtest.h>

#include <array>

namespace tandem::cli {
namespace {

TEST(PrintableTest, KeepsTextAndShowsControlsAndBrokenBytes) {
  EXPECT_EQ(printable("größe 数 🙂"), "größe 数 🙂");
  EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable(std::string_view{"a\0b", 3}), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control, ESC [ for some terminals";
}

TEST(PrintableTest, RefusesBrokenUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut short";
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\x80"), "\\xe0\\x80\\x80") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past U+10FFFF";
  EXPECT_EQ(printable("\xc3(a"), "\\xc3(a") << "only the broken byte is replaced";
}

TEST(ShapeTextTest, JoinsSizes) {
  const std::array<std::int64_t, 3> sizes{360, 0, 8};
  EXPECT_EQ(shape_text(sizes), "360x0x8");
  EXPECT_EQ(shape_text({}), "scalar");
}

TEST(CountTextTest, KnowsTheSingular) {
  EXPECT_EQ(count_text(1, "run"), "1 run");
  EXPECT_EQ(count_text(0, "run"), "0 runs");
}

TEST(TableTest, AlignsColumnsAndLeavesOutEmptyOnes) {
  Table table{{{"#", Table::Align::Right}, {"name"}, {"nothing"}, {"bytes", Table::Align::Right}}};
  EXPECT_TRUE(table.empty());
  table.add({"9", "größe", "", "5"});
  table.add({"10", "b", "", "12345678"});
  EXPECT_EQ(table.to_string(2),
            "   #  name      bytes\n"
            "   9  größe         5\n"
            "  10  b      12345678\n");
}

}  // namespace
}  // namespace tandem::cli
