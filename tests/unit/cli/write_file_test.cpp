#include "cli/write_file.h"

#include "unit/cli/temporary_folder.h"

#include <gtest/gtest.h>

#include <iterator>

namespace tandem::cli {
namespace {

TEST(WriteFileTest, ReplacesWhatWasThere) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", "something longer");
  ASSERT_TRUE(write_file(file.string(), "new").ok());
  std::ifstream in{file};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "new");
}

TEST(WriteFileTest, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string nowhere = (folder.path() / "no" / "x").string();
  const Status missing = write_file(nowhere, "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(missing.error().site().file, nowhere);
  EXPECT_EQ(write_file(folder.path().string(), "x").error().code(), ErrorCode::AccessFailed) << "a folder";
  EXPECT_EQ(write_file("/dev/full", "x").error().code(), ErrorCode::AccessFailed) << "a full disk";
}

}  // namespace
}  // namespace tandem::cli
