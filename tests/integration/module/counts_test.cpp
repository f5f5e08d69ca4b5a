#include "fixture.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
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
thread_local std::size_t allocations_of_libraries = 0;
thread_local std::array<const void*, 64> locks{};  // mutexes that were locked while counting
thread_local std::size_t lock_count = 0;

bool is_in(const void* address, std::string_view file) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && std::string_view{info.dli_fname}.find(file) != std::string_view::npos;
}

/// The code that asked for memory: the caller of malloc, or of the C++ library where that called it.
const void* origin(const void* caller) noexcept {
  if (!is_in(caller, "libstdc++")) return caller;
  std::array<void*, 16> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  bool inside = false;
  for (int i = 0; i < count; ++i) {
    const bool library = is_in(frames[static_cast<std::size_t>(i)], "libstdc++");
    if (inside && !library) return frames[static_cast<std::size_t>(i)];
    inside = inside || library;
  }
  return caller;
}

/// Delegates' libraries are loaded from memory; what they allocate for themselves is theirs.
void count(const void* caller) noexcept {
  if (!counting) return;
  counting = false;  // backtrace() may allocate when it is first used
  if (is_in(origin(caller), "/proc/")) {
    ++allocations_of_libraries;
  } else {
    ++allocations;
  }
  counting = true;
}

}  // namespace

// Every allocation of the process comes by here: ours, the delegates' libraries', the C++ library's.
#pragma GCC visibility push(default)
extern "C" {
void* malloc(std::size_t bytes) noexcept {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  count(__builtin_return_address(0));
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  count(__builtin_return_address(0));
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  count(__builtin_return_address(0));
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock kNext = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (counting && lock_count < locks.size()) locks[lock_count++] = mutex;
  return kNext(mutex);
}
}
#pragma GCC visibility pop

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
  std::vector<int> used(100);
  counting = false;
  EXPECT_GE(allocations, used.size() / 100);
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
                         ::testing::Values("add", "alias", "cond", "cond_host", "devtag", "digits", "dtypes", "dynamic",
                                           "empty", "map_host", "mlp", "mlp_aten", "mlp_unplanned", "nocontig", "plain",
                                           "plain_ops", "portable", "scalars", "split25", "state", "state_host",
                                           "views"),
                         [](const auto& parameter) { return std::string{parameter.param}; });

/// The mutexes that one run locks.
std::set<const void*> locks_of(Method& method, const std::vector<Value>& inputs) {
  std::vector<Value> outputs(method.meta().outputs.size());
  EXPECT_TRUE(method.execute_into(inputs, outputs).ok());
  lock_count = 0;
  counting = true;
  const Status ran = method.execute_into(inputs, outputs);
  counting = false;
  EXPECT_TRUE(ran.ok());
  const std::span<const void* const> locked{locks.data(), lock_count};
  return std::set<const void*>(locked.begin(), locked.end());
}

TEST(CountsTest, TheLockCounterCounts) {
  std::mutex mutex;
  lock_count = 0;
  counting = true;
  { const std::scoped_lock lock{mutex}; }
  counting = false;
  ASSERT_EQ(lock_count, 1U);
  EXPECT_EQ(locks[0], mutex.native_handle());
}

TEST(CountsTest, RunsLockNothing) {  // a method's turns are given by a gate without a lock
  for (const char* name : {"split25", "state_host", "multi"}) {
    const Fixture fixture{name};
    Module module{fixture.program(), fixture.data_files()};
    const std::string method = name == std::string{"multi"} ? *module.method_names()->begin() : "forward";
    const auto loaded = module.method(method);
    ASSERT_TRUE(loaded.ok());
    EXPECT_TRUE(locks_of(**loaded, fixture.inputs(method, 0)).empty()) << name;
  }
}

/// Allocations of one call of `body`, which has been called before.
template <class Body>
std::size_t allocations_in(Body&& body) {
  for (int i = 0; i < 5; ++i) body();
  allocations = 0;
  counting = true;
  body();
  counting = false;
  return allocations;
}

/// A method, and options that put it on a queued stream.
class QueuedCountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(method.ok());
    ASSERT_TRUE(stream.ok());
    queued.stream = stream->ref();
  }

  const Fixture fixture{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  Result<std::shared_ptr<Method>> method = module.method("forward");
  Result<Stream> stream = Stream::create();
  ExecuteOptions queued;
  std::vector<Value> inputs = fixture.inputs("forward", 0);
  std::vector<Value> outputs = std::vector<Value>(1);
};

TEST_F(QueuedCountsTest, DependencyEventsOfInlineRunsAllocateNothing) {
  for (int i = 0; i < 5; ++i) {
    // What the inline run has to wait for: the instance and the inputs are in use on another stream.
    const auto execution = (*method)->execute_async(inputs, queued);
    ASSERT_TRUE(execution.ok());
    allocations = 0;
    counting = true;
    const Status ran = (*method)->execute_into(inputs, outputs);
    counting = false;
    ASSERT_TRUE(ran.ok());
    if (i > 2) {
      EXPECT_EQ(allocations, 0U);
    }
  }
}

TEST_F(QueuedCountsTest, RunsOnAQueuedStreamAllocateNothing) {
  EXPECT_EQ(allocations_in([&] { EXPECT_TRUE((*method)->execute_into(inputs, outputs, queued).ok()); }), 0U);
  // The handle of an asynchronous execution is made anew, with its two lists.
  EXPECT_LE(allocations_in([&] { EXPECT_TRUE((*method)->execute_async(inputs, queued).ok()); }), 3U);
}

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
