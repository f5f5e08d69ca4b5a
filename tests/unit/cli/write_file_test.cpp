#include "cli/write_file.h"

#include "support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

TEST(WriteFileTest, ReplacesWhatWasThere) {
  const testing::TemporaryFolder folder;
  const auto file = folder.write("x", "something longer");
  ASSERT_TRUE(write_file(file.string(), "new").ok());
  std::ifstream in{file};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "new");
}

TEST(WriteFileTest, NamesTheFileThatCannotBeWritten) {
  const testing::TemporaryFolder folder;
  const std::string nowhere = (folder.path() / "no" / "x").string();
  const Status missing = write_file(nowhere, "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(missing.error().site().file, nowhere);
  EXPECT_EQ(write_file(folder.path().string(), "x").error().code(), ErrorCode::AccessFailed) << "a folder";
  EXPECT_EQ(write_file("/dev/full", "x").error().code(), ErrorCode::AccessFailed) << "a full disk";
}

std::vector<std::string> names_in(const testing::TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{folder.path()}) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(NewFileTest, TakesItsNameOnlyWhenAsked) {
  const testing::TemporaryFolder folder;
  const auto file = folder.write("x", "old");
  const auto contents = [&file] {
    std::ifstream in{file};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  {
    auto made = NewFile::write(file.string(), "new");
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(contents(), "old");
    std::ifstream in{made->path()};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "new");
    ASSERT_TRUE(made->move_into_place().ok());
  }
  EXPECT_EQ(contents(), "new");
  EXPECT_THAT(names_in(folder), ::testing::ElementsAre("x"));
}

TEST(NewFileTest, LeavesNothingIfItIsDropped) {
  const testing::TemporaryFolder folder;
  const auto file = folder.write("x", "old");
  ASSERT_TRUE(NewFile::write(file.string(), "new").ok());
  EXPECT_THAT(names_in(folder), ::testing::ElementsAre("x"));
}

TEST(NewFileTest, NamesTheFileThatCannotBeWritten) {
  const testing::TemporaryFolder folder;
  const std::string nowhere = (folder.path() / "no" / "x").string();
  const auto missing = NewFile::write(nowhere, "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(missing.error().site().file, nowhere);
  const std::string taken = (folder.path() / "folder").string();
  std::filesystem::create_directory(taken);
  auto made = NewFile::write(taken, "x");
  ASSERT_TRUE(made.ok());
  const Status moved = made->move_into_place();
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code(), ErrorCode::AccessFailed);
  EXPECT_EQ(moved.error().site().file, taken);
}

}  // namespace
}  // namespace tandem::cli
