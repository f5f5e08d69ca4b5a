#include "fixture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;

void count() noexcept {
  if (counting) ++allocations;
}

}  // namespace

// Every allocation of the process comes by here: ours, the delegates' libraries', the C++ library's.
extern "C" {
void* malloc(std::size_t bytes) noexcept {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  count();
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  count();
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 : 0;
}
}

namespace tandem {
namespace {

using testing::Fixture;

/// Allocations of `runs` runs, after as many runs as it takes until outputs are recycled.
std::size_t allocations_of(Method& method, const std::vector<Value>& inputs, int runs) {
  std::vector<Value> outputs(method.meta().outputs.size());
  for (int i = 0; i < 3; ++i) {
    const Status warm = method.execute_into(inputs, outputs);
    EXPECT_TRUE(warm.ok()) << warm.error().to_string();
  }
  allocations = 0;
  counting = true;
  for (int i = 0; i < runs; ++i) {
    if (!method.execute_into(inputs, outputs).ok()) std::abort();
  }
  counting = false;
  return allocations;
}

TEST(CountsTest, TheCounterCounts) {
  allocations = 0;
  counting = true;
  delete new int{1};
  counting = false;
  EXPECT_GE(allocations, 1U);
}

class RunsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RunsTest, AllocateNothing) {
  const Fixture fixture{GetParam()};
  Module module{fixture.program(), fixture.data_files()};
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok()) << method.error().to_string();
  EXPECT_EQ(allocations_of(**method, fixture.inputs("forward", 0), 20), 0U);
}

INSTANTIATE_TEST_SUITE_P(Programs, RunsTest,
                         ::testing::Values("add", "alias", "cond", "cond_host", "devtag", "digits", "dtypes",
                                           "dynamic", "empty", "map_host", "mlp", "mlp_aten", "mlp_unplanned",
                                           "nocontig", "plain", "plain_ops", "portable", "scalars", "split25", "state",
                                           "state_host"),
                         [](const auto& parameter) { return std::string{parameter.param}; });

TEST(CountsTest, ShapesSeenBeforeAllocateNothing) {
  const Fixture fixture{"dynamic"};
  Module module{fixture.program(), fixture.data_files()};
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok());
  std::vector<std::vector<Value>> inputs;
  for (std::size_t i = 0; i < fixture.case_count("forward"); ++i) inputs.push_back(fixture.inputs("forward", i));
  std::vector<Value> outputs((*method)->meta().outputs.size());
  const auto run_all = [&] {
    for (const auto& input : inputs) {
      if (!(*method)->execute_into(input, outputs).ok()) std::abort();
    }
  };
  for (int i = 0; i < 3; ++i) run_all();
  allocations = 0;
  counting = true;
  run_all();
  counting = false;
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace tandem
