#include "base/mapped_file.h"

#include "support/temporary_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <filesystem>
#include <string>

namespace tandem::base {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) { return folder_.write(name, text); }
  testing::TemporaryFolder folder_;
};

TEST_F(MappedFileTest, ShowsTheBytes) {
  const auto file = MappedFile::open(write("a", "hello"));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->bytes().size(), 5U);
  EXPECT_EQ(file->bytes()[1], std::byte{'e'});
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  const auto file = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, MissingFileIsNotFound) {
  const auto file = MappedFile::open(folder_.path() / "none");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(file.error().site().file, (folder_.path() / "none").string());
}

TEST_F(MappedFileTest, DirectoryAndFifoAreRefusedWithoutWaiting) {
  EXPECT_EQ(MappedFile::open(folder_.path()).error().code(), ErrorCode::AccessFailed);
  const std::filesystem::path fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(fifo).error().code(), ErrorCode::AccessFailed);
}

TEST_F(MappedFileTest, MovesKeepTheMapping) {
  auto file = MappedFile::open(write("a", "hello"));
  ASSERT_TRUE(file.ok());
  MappedFile moved = *std::move(file);
  MappedFile assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes()[4], std::byte{'o'});
}

}  // namespace
}  // namespace tandem::base
