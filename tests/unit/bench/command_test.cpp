#include "bench/suite/command.h"
#include "support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace tandem::suite {
namespace {

int run(std::vector<std::string> arguments, const Counter& allocations = {}) {
  arguments.insert(arguments.begin(), "suite");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return run_command(
      {.name = "suite",
       .about = "A test's",
       .make_machine = [](int /*device*/) { return Result<std::unique_ptr<Machine>>{make_host_machine()}; },
       .allocations = allocations},
      static_cast<int>(arguments.size()), pointers.data());
}

TEST(CommandTest, WritesWhatItFound) {
  const testing::TemporaryFolder folder;
  const std::string json = (folder.path() / "r.json").string();
  const std::string markdown = (folder.path() / "r.md").string();
  EXPECT_EQ(run({"--rounds", "3", "--only", "kernels", "--json", json, "--markdown", markdown}), 0);
  std::ifstream file{json};
  const auto report = nlohmann::json::parse(file);
  EXPECT_EQ(report["rounds"], 3);
  EXPECT_EQ(report["cases"].size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(markdown));
}

TEST(CommandTest, CountsMatterWithCheck) {
  const Counter one = [](const std::function<Status()>& work) -> Result<std::optional<std::size_t>> {
    TANDEM_CHECK_OK(work());
    return std::optional<std::size_t>{1};
  };
  EXPECT_EQ(run({"--rounds", "1", "--only", "null_chain"}, one), 0);
  EXPECT_EQ(run({"--rounds", "1", "--only", "null_chain", "--check"}, one), 1);
}

TEST(CommandTest, UsageAndFilesAreTwo) {
  EXPECT_EQ(run({"--no-such-option"}), 2);
  EXPECT_EQ(run({"--only", "nothing"}), 2);
  EXPECT_EQ(run({"--rounds", "0"}), 2);
  EXPECT_EQ(run({"--rounds", "1", "--only", "kernels", "--json", "/no/such/folder/r.json"}), 2);
}

TEST(CommandTest, HelpAndListAreGood) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_EQ(run({"--list"}), 0);
}

}  // namespace
}  // namespace tandem::suite
