#include "base/mapped_file.h"
#include "support/dump_json.h"
#include "support/file_builder.h"
#include "support/promises.h"
#include "unit/format/fault_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

/// Files that were cut or whose bits were flipped: refused, or read with every promise kept.
namespace tandem::testing {
namespace {

FileBytes fixture(const std::string& name) {
  const auto file = base::MappedFile::open(std::filesystem::path{TANDEM_FIXTURES} / name);
  EXPECT_TRUE(file.ok()) << file.error().to_string();
  return FileBytes{file.ok() ? file->bytes() : format::Bytes{}};
}

FileBytes rich_file() { return pte_file(rich_program(), rich_segment_data()); }

/// Every shorter version of a file is refused, unless what was cut off is nothing that the file refers to.
template <class Read>
void expect_cuts_are_noticed(const FileBytes& whole, Read read) {
  const auto complete = read(whole.bytes());
  ASSERT_TRUE(complete.ok()) << complete.error().to_string();
  auto expected = dump(*complete, whole.bytes());
  for (std::size_t length = 0; length < whole.bytes().size(); ++length) {
    const FileBytes cut = whole.first(length);
    const auto result = read(cut.bytes());
    if (!result.ok()) continue;
    expected["file_bytes"] = length;
    ASSERT_EQ(dump(*result, cut.bytes()), expected) << length << " bytes of " << whole.bytes().size();
  }
}

TEST(Damage, CutProgramIsNoticed) { expect_cuts_are_noticed(rich_file(), format::read_pte); }
TEST(Damage, CutProgramWithoutSegmentsIsNoticed) {
  expect_cuts_are_noticed(fixture("map_host/program.pte"), format::read_pte);
}
TEST(Damage, CutProgramWithConstantsIsNoticed) {
  expect_cuts_are_noticed(fixture("plain/program.pte"), format::read_pte);
}
TEST(Damage, CutDataFileIsNoticed) {
  expect_cuts_are_noticed(fixture("plain_ptd/_default_external_constant.ptd"), format::read_ptd);
}
TEST(Damage, CutEmptyDataFileIsNoticed) { expect_cuts_are_noticed(fixture("add/aoti_cpu_blob.ptd"), format::read_ptd); }

/// Flips one to eight bits, many times, always the same way.
template <class Read>
void expect_flips_keep_promises(const FileBytes& whole, Read read) {
  constexpr int kTries = 4000;
  std::mt19937 random{20240517};
  std::uniform_int_distribution<std::size_t> position{0, whole.bytes().size() - 1};
  std::uniform_int_distribution<int> bit{0, 7};
  std::uniform_int_distribution<int> count{1, 8};
  int refused = 0;
  for (int i = 0; i < kTries; ++i) {
    FileBytes flipped{whole.bytes()};
    for (int n = count(random); n > 0; --n) {
      const std::size_t at = position(random);
      flipped.put(at, flipped.bytes()[at] ^ std::byte{1} << bit(random));
    }
    const auto result = read(flipped.bytes());
    if (!result.ok()) {
      ++refused;
      ASSERT_FALSE(describe_fault(result.error(), flipped).empty());
    } else {
      ASSERT_EQ(broken_promise(*result, flipped.bytes()), "") << "try " << i;
    }
  }
  EXPECT_GT(refused, kTries / 10);  // Otherwise the flips hit nothing that is checked.
}

TEST(Damage, FlippedProgramKeepsPromises) { expect_flips_keep_promises(rich_file(), format::read_pte); }
TEST(Damage, FlippedLoopKeepsPromises) {
  expect_flips_keep_promises(fixture("map_host/program.pte"), format::read_pte);
}
TEST(Damage, FlippedOperatorsKeepPromises) {
  expect_flips_keep_promises(fixture("plain_ops/program.pte"), format::read_pte);
}
TEST(Damage, FlippedDataFileKeepsPromises) {
  expect_flips_keep_promises(fixture("plain_ptd/_default_external_constant.ptd"), format::read_ptd);
}

}  // namespace
}  // namespace tandem::testing
