#include "base/log.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tandem {
namespace {

TEST(LogTest, ReachesTheSinkUntilItIsRemoved) {
  std::string seen;
  set_log_sink([&seen](LogLevel level, std::string_view text) {
    seen += (level == LogLevel::Warning ? "W:" : "?:") + std::string{text};
  });
  base::log(LogLevel::Warning, "hello");
  set_log_sink({});
  base::log(LogLevel::Warning, "again");
  EXPECT_EQ(seen, "W:hello");
}

TEST(LogTest, SurvivesASinkThatThrows) {
  set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error{"bad sink"}; });
  base::log(LogLevel::Error, "x");
  set_log_sink({});
}

}  // namespace
}  // namespace tandem
