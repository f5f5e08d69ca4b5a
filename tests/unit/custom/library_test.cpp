#include "backends/custom/library.h"

#include "support/custom_library/library_file.h"
#include "support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace tandem::custom {
namespace {

using testing::custom_library_bytes;
using testing::custom_library_path;
using ::testing::HasSubstr;

Error refusal(const std::string& name) {
  const auto opened = Library::of_file(custom_library_path(name));
  EXPECT_FALSE(opened.ok()) << name;
  return opened.ok() ? Error{ErrorCode::Internal, "accepted"} : opened.error();
}

TEST(CustomLibraryTest, OpensFromAPathAndFromMemory) {
  const auto from_path = Library::of_file(custom_library_path("plain"));
  ASSERT_TRUE(from_path.ok()) << from_path.error().to_string();
  const auto bytes = custom_library_bytes("plain");
  const auto from_memory = Library::of_bytes(bytes, "plain");
  ASSERT_TRUE(from_memory.ok()) << from_memory.error().to_string();
  EXPECT_NE((*from_path)->table().enqueue, nullptr);
  EXPECT_NE((*from_memory)->table().enqueue, (*from_path)->table().enqueue);
}

TEST(CustomLibraryTest, TheSamePlaceInMemoryIsOpenedOnce) {
  const auto bytes = custom_library_bytes("plain");
  const auto copy = bytes;
  const auto first = Library::of_bytes(bytes, "a");
  const auto second = Library::of_bytes(bytes, "b");
  const auto other = Library::of_bytes(copy, "a");
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  EXPECT_EQ(first->get(), second->get());
  EXPECT_NE(first->get(), other->get());
}

TEST(CustomLibraryTest, IsClosedWithItsLastOwner) {
  const auto mapped = [] {
    std::ifstream maps{"/proc/self/maps"};
    const std::string text{std::istreambuf_iterator<char>{maps}, {}};
    return text.find("memfd:tandem-library") != std::string::npos;
  };
  const auto bytes = custom_library_bytes("plain");
  {
    const auto library = Library::of_bytes(bytes, "plain");
    ASSERT_TRUE(library.ok());
    EXPECT_TRUE(mapped());
  }
  EXPECT_FALSE(mapped());
}

TEST(CustomLibraryTest, KeepsACopyForDebuggers) {
  const testing::TemporaryFolder folder;
  setenv("TANDEM_KEEP_LIBS", folder.path().c_str(), 1);
  const auto bytes = custom_library_bytes("plain");
  const auto library = Library::of_bytes(bytes, "some/key");
  unsetenv("TANDEM_KEEP_LIBS");
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "some_key.so"), bytes.size());
}

TEST(CustomLibraryTest, AFileThatIsNotThereIsNamed) {
  const auto opened = Library::of_file("/nowhere/kernel.so");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(opened.error().site().file, "/nowhere/kernel.so");
}

TEST(CustomLibraryTest, BytesThatAreNoLibraryAreRefusedWithTheLoadersTextAndTheKey) {
  const std::string text = "not a library";
  const auto opened = Library::of_bytes(std::as_bytes(std::span{text}), "kernel");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(opened.error().native().origin, Origin::DynamicLoader);
  EXPECT_NE(opened.error().native().text, "");
  EXPECT_EQ(opened.error().site().key, "kernel");
}

TEST(CustomLibraryTest, AMissingImportIsRefusedWithTheLoadersText) {
  const Error error = refusal("nowhere");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(error.native().text, HasSubstr("tandem_test_is_nowhere"));
  EXPECT_EQ(error.site().file, custom_library_path("nowhere"));
}

TEST(CustomLibraryTest, AMissingEntryPointIsNamed) {
  const Error error = refusal("no_entry");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.site().field, "tandem_custom_delegate");
  EXPECT_THAT(error.native().text, HasSubstr("tandem_custom_delegate"));
}

TEST(CustomLibraryTest, BothVersionsAreNamedWhereTheyDiffer) {
  const Error error = refusal("wrong_version");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "1");
  EXPECT_EQ(error.found(), "9");
}

TEST(CustomLibraryTest, ALibraryWithoutATableForThisVersionIsRefused) {
  const Error error = refusal("no_table");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.found(), "null");
}

TEST(CustomLibraryTest, ATableThatIsTooShortIsRefused) {
  const Error error = refusal("short_table");
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.site().field, "struct_size");
  EXPECT_EQ(error.found(), "8");
}

TEST(CustomLibraryTest, ATableWithoutEnqueueIsRefused) {
  EXPECT_EQ(refusal("no_enqueue").code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(refusal("no_enqueue").site().field, "enqueue");
}

TEST(CustomLibraryTest, AnExceptionOfTheEntryPointIsAnError) {
  const Error error = refusal("entry_throws");
  EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
  EXPECT_THAT(error.message(), HasSubstr("not today"));
}

}  // namespace
}  // namespace tandem::custom
