#include <tandem/result.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tandem {
namespace {

Result<std::unique_ptr<int>> make(bool good) {
  if (!good) return Error{ErrorCode::NotFound, "nothing"};
  return std::make_unique<int>(4);
}

Result<int> doubled(bool good) {
  TANDEM_TRY(const auto number, make(good));  // a move-only value passes through
  return *number * 2;
}

Status checked(bool good) {
  TANDEM_CHECK_OK(doubled(good).ok() ? Status{} : Status{Error{ErrorCode::Busy, "later"}});
  return {};
}

TEST(ResultTest, TryGivesTheValueOrReturnsTheError) {
  EXPECT_EQ(*doubled(true), 8);
  const auto failed = doubled(false);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::NotFound);
}

TEST(ResultTest, CheckReturnsTheError) {
  EXPECT_TRUE(checked(true).ok());
  EXPECT_EQ(checked(false).error().code(), ErrorCode::Busy);
}

TEST(ResultTest, ConvertsToTheBase) {
  const auto convert = []() -> Result<std::shared_ptr<const int>> { return std::make_shared<int>(1); };
  EXPECT_EQ(**convert(), 1);
}

}  // namespace
}  // namespace tandem
