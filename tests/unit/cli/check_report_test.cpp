#include "cli/check_report.h"

#include <gtest/gtest.h>

// What needs a loaded method is in the command's integration tests.
namespace tandem::cli {
namespace {

TEST(CheckReportTest, AnUnsoundFileHasNoMethods) {
  CheckReport report{.file = "x.pte"};
  report.unsound = Error{ErrorCode::InvalidProgram, "broken"};
  EXPECT_FALSE(report.good());
  EXPECT_EQ(check_text(report).substr(0, 42), "x.pte: NOT good\nsound       NO   InvalidPr");
  const Json json = check_json(report);
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["error"]["code"], "InvalidProgram");
  EXPECT_EQ(json["methods"].size(), 0U);
}

TEST(CheckReportTest, WhatIsMissingIsListedAndOrderUnknown) {
  CheckReport report{.file = "x.pte"};
  report.methods.push_back({.name = "forward", .missing = {"A: not here", "operator b\n"}});
  EXPECT_FALSE(report.good());
  EXPECT_EQ(check_text(report),
            "x.pte: NOT good\n"
            "sound       yes  the program\n"
            "method forward\n"
            "  runnable  NO   A: not here\n"
            "                 operator b\\x0a\n"
            "  ordered   not checked: needs the delegates\n");
  EXPECT_EQ(check_json(report)["methods"][0]["ordered"], nullptr);
}

TEST(CheckReportTest, AViolationFoundWhileLoadingIsAMatterOfOrder) {
  CheckReport report{.file = "x.pte"};
  report.methods.push_back(
      {.name = "forward",
       .error = Error{ErrorCode::OrderViolation, "a step writes bytes that another value still needs"}});
  EXPECT_FALSE(report.good());
  const Json method = check_json(report)["methods"][0];
  EXPECT_EQ(method["runnable"], true);
  EXPECT_EQ(method["ordered"], false);
  EXPECT_EQ(method["error"]["code"], "OrderViolation");
  EXPECT_NE(check_text(report).find("  ordered   NO   OrderViolation: a step writes"), std::string::npos);
}

}  // namespace
}  // namespace tandem::cli
