#include "format/data_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tandem::testing {
namespace {

using format::DataMap;
using Files = std::vector<format::NamedDataFile>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::byte, 4> kBlob{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

format::DataFile file_with(std::string_view key, std::size_t bytes) {
  format::DataFile out;
  out.entries.push_back({key, 0, format::Bytes{kBlob}.first(bytes), std::nullopt});
  return out;
}

format::Program program_with(std::string_view key, std::size_t bytes) {
  format::Program out;
  out.named_data.push_back({key, 5, format::Bytes{kBlob}.first(bytes)});
  return out;
}

TEST(DataMap, FindsEntriesOfEveryFile) {
  const format::DataFile a = file_with("a", 1);
  const format::DataFile b = file_with("b", 2);
  const format::Program program = program_with("c", 3);
  const auto map = DataMap::merge(Files{{"a.ptd", &a}, {"b.ptd", &b}}, &program, "m.pte");
  ASSERT_TRUE(map.ok()) << map.error().to_string();
  EXPECT_EQ(map->size(), 3U);
  EXPECT_THAT(map->files(), ElementsAre("a.ptd", "b.ptd", "m.pte"));
  std::uint32_t file = 0;
  for (const std::string_view key : {"a", "b", "c"}) {
    const auto found = map->find(key);
    ASSERT_TRUE(found.ok()) << key;
    EXPECT_EQ((*found)->file, file);
    EXPECT_EQ((*found)->entry.data.size(), ++file);
  }
}

TEST(DataMap, KeepsTheLayout) {
  format::DataFile data = file_with("a", 4);
  data.entries[0].layout = format::TensorLayout{ScalarType::Float, {1}, {0}, 4};
  const auto map = DataMap::merge(Files{{"a.ptd", &data}});
  ASSERT_TRUE(map.ok());
  const auto found = map->find("a");
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE((*found)->entry.layout.has_value());
  EXPECT_EQ((*found)->entry.layout->dtype, ScalarType::Float);
}

TEST(DataMap, PrefersDataFilesOverTheProgram) {
  const format::DataFile data = file_with("key", 1);
  const format::Program program = program_with("key", 3);
  const auto map = DataMap::merge(Files{{"a.ptd", &data}}, &program, "m.pte");
  ASSERT_TRUE(map.ok()) << map.error().to_string();
  EXPECT_EQ(map->size(), 1U);
  EXPECT_EQ((*map->find("key"))->entry.data.size(), 1U);
}

TEST(DataMap, RefusesAKeyInTwoDataFilesAndNamesBoth) {
  const format::DataFile a = file_with("key", 1);
  const format::DataFile b = file_with("key", 2);
  const auto map = DataMap::merge(Files{{"a.ptd", &a}, {"b.ptd", &b}});
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(map.error().site().key, "key");
  EXPECT_EQ(map.error().site().file, "b.ptd");
  EXPECT_THAT(map.error().message(), HasSubstr("a.ptd"));
}

TEST(DataMap, NamesAMissingKeyAndTheFilesSearched) {
  const format::DataFile a = file_with("a", 1);
  const format::Program program;
  const auto map = DataMap::merge(Files{{"a.ptd", &a}}, &program, "m.pte");
  ASSERT_TRUE(map.ok());
  const auto found = map->find("b");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(found.error().site().key, "b");
  EXPECT_THAT(found.error().message(), HasSubstr("a.ptd, m.pte"));
}

TEST(DataMap, WithoutFilesFindsNothing) {
  const auto found = DataMap{}.find("key");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message(), HasSubstr("no file"));
}

}  // namespace
}  // namespace tandem::testing
