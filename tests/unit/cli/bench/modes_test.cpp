#include "cli/bench/modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem::cli::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DeviceId kCuda{DeviceType::Cuda, 0};

std::vector<std::string> names(const std::vector<Mode>& modes) {
  std::vector<std::string> all;
  for (const Mode& mode : modes) all.push_back(mode.name());
  return all;
}

std::string error_of(const Status& status) { return status.ok() ? "" : status.error().to_string(); }
std::string error_of(const Result<std::vector<Mode>>& modes) { return modes.ok() ? "" : modes.error().to_string(); }

TEST(ParseModesTest, TakesNamesWithAndWithoutNumbers) {
  const auto modes = parse_modes("graph,threads:8,streams,depth", {.threads = 3, .depth = 5});
  ASSERT_TRUE(modes.ok()) << modes.error().to_string();
  EXPECT_THAT(names(*modes), ElementsAre("graph", "threads:8", "streams:3", "depth:5"));
  EXPECT_TRUE(modes->front().was_asked);
  EXPECT_EQ(modes->front().kind->graphs, GraphPolicy::On);
}

TEST(ParseModesTest, NamesThoseThatThereAre) {
  const std::string error = error_of(parse_modes("eager,fast", {}));
  EXPECT_THAT(error, HasSubstr("InvalidArgument"));
  EXPECT_THAT(error, HasSubstr("eager, again, graph"));
  EXPECT_THAT(error, HasSubstr("threads:N"));
  EXPECT_THAT(error, HasSubstr("found fast"));
}

TEST(ParseModesTest, RefusesWhatIsNoNumber) {
  for (const char* text : {"threads:0", "threads:", "threads:x", "threads:4x", "threads:1025", "threads:-1"}) {
    EXPECT_THAT(error_of(parse_modes(text, {})), HasSubstr("1 to 1024")) << text;
  }
  EXPECT_THAT(error_of(parse_modes("eager:2", {})), HasSubstr("no number"));
}

TEST(ParseModesTest, RefusesAnEmptyNameAndAModeTwice) {
  EXPECT_THAT(error_of(parse_modes("", {})), HasSubstr("no such mode"));
  EXPECT_THAT(error_of(parse_modes("eager,,again", {})), HasSubstr("no such mode"));
  EXPECT_THAT(error_of(parse_modes("threads,threads:4", {})), HasSubstr("twice"));
}

TEST(DefaultModesTest, AreThoseThatMakeSense) {
  EXPECT_THAT(names(default_modes({.is_fully_async = true}, {})),
              ElementsAre("eager", "again", "threads:4", "streams:4", "depth:4"));
  EXPECT_THAT(names(default_modes({.is_stateful = true, .is_fully_async = true}, {})), ElementsAre("eager", "again"));
  EXPECT_THAT(names(default_modes({.is_fully_async = false}, {.threads = 2})),
              ElementsAre("eager", "again", "threads:2", "streams:2"));
  EXPECT_THAT(names(default_modes({.device = kCuda, .is_fully_async = true}, {})),
              ElementsAre("eager", "again", "graph", "branches", "auto", "threads:4", "streams:4", "depth:4", "raw",
                          "raw-graph"));
}

TEST(CheckModeTest, SaysWhyAModeCannotBeMeasured) {
  const auto error = [](const char* mode, const MethodFacts& facts) {
    return error_of(check_mode(parse_modes(mode, {})->front(), facts));
  };
  EXPECT_EQ(error("graph", {.is_stateful = true}), "");
  EXPECT_THAT(error("threads:2", {.is_stateful = true}), HasSubstr("threads:2 cannot be measured here"));
  EXPECT_THAT(error("streams:2", {.is_stateful = true}), HasSubstr("keeps state"));
  EXPECT_THAT(error("depth:2", {.is_stateful = true, .is_fully_async = true}), HasSubstr("keeps state"));
  EXPECT_THAT(error("depth:2", {.is_fully_async = false}), HasSubstr("needs the host"));
  EXPECT_THAT(error("raw", {}), HasSubstr("CUDA"));
  EXPECT_THAT(error("raw-graph", {.device = {DeviceType::Hip, 0}}), HasSubstr("NotSupported"));
  EXPECT_EQ(error("raw", {.device = kCuda}), "");
}

}  // namespace
}  // namespace tandem::cli::bench
