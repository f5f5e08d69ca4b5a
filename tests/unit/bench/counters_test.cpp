#include "bench/suite/counters.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace tandem::suite {
namespace {

TEST(AllocationsTest, AreCounted) {
  std::unique_ptr<int> kept;
  const auto found = count_allocations([&]() -> Status {
    kept = std::make_unique<int>(1);
    return {};
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, 1U);
  const auto none = count_allocations([&]() -> Status {
    *kept = 2;
    return {};
  });
  EXPECT_EQ(*none, 0U);
}

TEST(AllocationsTest, FailuresOfTheWorkArePassedOn) {
  const auto failed = count_allocations([]() -> Status { return Error{ErrorCode::BackendFailed, "no"}; });
  EXPECT_EQ(failed.error().code(), ErrorCode::BackendFailed);
}

TEST(SystemCallsTest, AreSeenAndDoWhatTheyDo) {
  pid_t parent = 0;
  const auto found = count_system_calls([&]() -> Status {
    parent = ::getppid();
    parent = ::getppid();
    return {};
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(parent, ::getppid());
  if (!found->has_value()) GTEST_SKIP() << "this kernel cannot tell";
  EXPECT_EQ(**found, 1U);
}

TEST(SystemCallsTest, WorkWithoutThemHasNone) {
  volatile int sum = 0;
  const auto found = count_system_calls([&]() -> Status {
    for (int i = 0; i < 100; ++i) sum = sum + i;
    return {};
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->value_or(0), 0U);
}

}  // namespace
}  // namespace tandem::suite
