#include "base/loadable_library.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <set>
#include <string>

namespace tandem::base {
namespace {

TEST(LoadableFile, NoPathIsEverSpelledTwice) {
  std::set<std::string> paths;
  for (int i = 0; i < 300; ++i) {
    const auto file = LoadableFile::in_memory({});
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(paths.insert(file->path()).second) << file->path();
    EXPECT_EQ(access(file->path().c_str(), R_OK), 0) << file->path();
  }
}

TEST(OpenLibrary, BytesThatAreNoLibraryAreRefusedWithTheLoadersText) {
  const std::string text = "not a library";
  const auto opened = open_library(std::as_bytes(std::span{text}));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(opened.error().native().origin, Origin::DynamicLoader);
  EXPECT_NE(opened.error().native().text, "");
}

TEST(OpenLibrary, AFileThatIsNotThereIsRefusedWithTheLoadersText) {
  const auto opened = open_library("/nowhere/library.so");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_NE(opened.error().native().text.find("/nowhere/library.so"), std::string::npos);
}

}  // namespace
}  // namespace tandem::base
