#include "fixture.h"

#include "base/mapped_file.h"
#include "support/file_builder.h"
#include "support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using testing::Fixture;

/// Grows with the pages that this process touched, in KiB.
std::size_t resident_kib() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

TEST(ProgramTest, ReadsFromMemory) {
  const Fixture fixture{"mlp"};
  const auto file = base::MappedFile::open(fixture.program());
  const auto data = base::MappedFile::open(fixture.data_files().front());
  ASSERT_TRUE(file.ok() && data.ok());
  const std::vector<std::span<const std::byte>> data_files{data->bytes()};
  const auto program = Program::from_bytes(file->bytes(), data_files);
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  Module module{*program};
  const auto outputs = module.forward(fixture.inputs("forward", 0));
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  fixture.expect_outputs("forward", 0, *outputs);
}

TEST(ProgramTest, NamesTheFileThatIsBad) {
  const Fixture fixture{"mlp"};
  const auto swapped = Program::load(fixture.data_files().front());
  ASSERT_FALSE(swapped.ok());
  EXPECT_EQ(swapped.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(swapped.error().site().file, fixture.data_files().front().string());
  const std::vector<std::filesystem::path> data{fixture.program()};
  const auto bad_data = Program::load(fixture.program(), data);
  ASSERT_FALSE(bad_data.ok());
  EXPECT_EQ(bad_data.error().code(), ErrorCode::InvalidExternalData);
  EXPECT_EQ(Program::load("/does/not/exist.pte").error().code(), ErrorCode::NotFound);
}

TEST(ProgramTest, KeyInTwoDataFilesIsRefused) {
  const Fixture fixture{"mlp"};
  const std::vector<std::filesystem::path> twice{fixture.data_files().front(), fixture.data_files().front()};
  const auto program = Program::load(fixture.program(), twice);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(program.error().site().key.empty());
}

TEST(ProgramTest, NamedDataNamesWhatItLacks) {
  const Fixture fixture{"mlp"};
  const auto program = Program::load(fixture.program(), fixture.data_files());
  ASSERT_TRUE(program.ok());
  const auto missing = (*program)->named_data().find("nothing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(missing.error().site().key, "nothing");
}

/// A data file with 1 GiB of weights that nobody reads costs address space, not memory.
TEST(ProgramTest, LoadingDoesNotTouchWeights) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  format::schema::FlatTensorT data;
  data.segments.push_back(std::make_unique<format::schema::DataSegmentT>());
  data.segments.front()->size = kGib;
  data.named_data.push_back(std::make_unique<format::schema::FlatTensorEntryT>());
  data.named_data.front()->key = "unused_weights_blob";
  testing::FileBytes head = testing::ptd_file(data);
  head.put(40, kGib);  // segment data size
  const testing::TemporaryFolder folder;
  const std::filesystem::path large = folder.path() / "large.ptd";
  std::ofstream{large, std::ios::binary}.write(reinterpret_cast<const char*>(head.bytes().data()),
                                               static_cast<std::streamsize>(head.bytes().size()));
  std::filesystem::resize_file(large, head.bytes().size() + kGib);  // sparse: takes no disk

  const Fixture fixture{"plain"};
  const std::size_t before = resident_kib();
  const std::vector<std::filesystem::path> files{large};
  const auto program = Program::load(fixture.program(), files);
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  EXPECT_EQ((*program)->named_data().find("unused_weights_blob")->size(), kGib);
  Module module{*program};
  const auto outputs = module.forward(fixture.inputs("forward", 0));
  ASSERT_TRUE(outputs.ok());
  fixture.expect_outputs("forward", 0, *outputs);
  EXPECT_LT(resident_kib() - before, 32U * 1024U);
}

}  // namespace
}  // namespace tandem
