#include "format/probe.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tandem::testing {
namespace {

using format::FileKind;

FileKind probe(std::string_view text) { return format::probe(std::as_bytes(std::span{text})); }

TEST(Probe, TellsProgramsFromDataFiles) {
  EXPECT_EQ(probe("....ET12"), FileKind::Pte);
  EXPECT_EQ(probe("....FT01"), FileKind::Ptd);
}

TEST(Probe, TellsProgramsOfOtherVersions) {
  EXPECT_EQ(probe("....ET13"), FileKind::IncompatiblePte);
  EXPECT_EQ(probe("....ET00 and more"), FileKind::IncompatiblePte);
}

TEST(Probe, KnowsNothingElse) {
  EXPECT_EQ(probe("....ETxy"), FileKind::Unknown);
  EXPECT_EQ(probe("....FT02"), FileKind::Unknown);
  EXPECT_EQ(probe("ET12...."), FileKind::Unknown);
}

TEST(Probe, NeedsEightBytes) {
  EXPECT_EQ(probe(""), FileKind::TooShort);
  EXPECT_EQ(probe("....ET1"), FileKind::TooShort);
}

}  // namespace
}  // namespace tandem::testing
