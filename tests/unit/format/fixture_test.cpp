#include "base/mapped_file.h"
#include "support/dump_json.h"
#include "support/fixture_names.h"
#include "support/promises.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

/// Real files: what our readers find is what ExecuTorch's own deserializer found.
namespace tandem::testing {
namespace {

using nlohmann::json;

/// Takes out of a dump what the reader does not keep (see dump_json.h).
void leave_out_what_is_not_kept(json& dump) {
  for (json& plan : dump.at("program").at("execution_plan")) {
    for (json& chain : plan.at("chains")) ASSERT_EQ(chain.erase("stacktrace"), 1U);
    for (json& value : plan.at("values")) {
      const auto extra = value.find("extra_tensor_info");
      if (extra == value.end() || extra->is_null()) continue;
      ASSERT_EQ(extra->erase("mutable_data_segments_idx"), 1U);
    }
  }
}

class Fixture : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static std::filesystem::path path(const std::string& file) {
    return std::filesystem::path{TANDEM_FIXTURES} / GetParam() / file;
  }
  [[nodiscard]] static json expected() {
    json dump = json::parse(std::ifstream{path("dump.json")});
    leave_out_what_is_not_kept(dump);
    return dump;
  }
};

std::size_t count_data_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) count += entry.path().extension() == ".ptd";
  return count;
}

/// Where and how two documents differ, in few words.
std::string difference(const json& expected, const json& found) { return json::diff(expected, found).dump(1); }

TEST_P(Fixture, ProgramAgreesWithItsDump) {
  const auto file = base::MappedFile::open(path("program.pte"));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const auto read = format::read_pte(file->bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(broken_promise(*read, file->bytes()), "");
  json dump = expected();
  dump.erase("data_files");
  EXPECT_EQ(difference(dump, testing::dump(*read, file->bytes())), "[]");
}

TEST_P(Fixture, DataFilesAgreeWithTheirDump) {
  const json dumps = expected().at("data_files");
  ASSERT_EQ(dumps.size(), count_data_files(path("")));
  for (const auto& [name, dump] : dumps.items()) {
    SCOPED_TRACE(name);
    const auto file = base::MappedFile::open(path(name));
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const auto read = format::read_ptd(file->bytes());
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(broken_promise(*read, file->bytes()), "");
    EXPECT_EQ(difference(dump, testing::dump(*read, file->bytes())), "[]");
  }
}

std::string name_of_fixture(const ::testing::TestParamInfo<std::string>& fixture) { return fixture.param; }

INSTANTIATE_TEST_SUITE_P(, Fixture, ::testing::ValuesIn(fixture_names()), name_of_fixture);

}  // namespace
}  // namespace tandem::testing
