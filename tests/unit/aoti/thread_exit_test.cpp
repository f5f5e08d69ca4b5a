#include "backends/aoti/thread_exit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <thread>

namespace tandem::aoti {
namespace {

void count(void* counter) { ++*static_cast<int*>(counter); }
void count_too(void* counter) { ++*static_cast<int*>(counter); }
void register_again(void* counter) { register_thread_exit(count, counter, nullptr); }

std::uintptr_t code(void (*function)(void*)) { return reinterpret_cast<std::uintptr_t>(function); }

TEST(ThreadExit, DestructorsRunWhenTheirThreadEnds) {
  int runs = 0;
  std::thread{[&] {
    register_thread_exit(count, &runs, nullptr);
    register_thread_exit(register_again, &runs, nullptr);
    EXPECT_EQ(runs, 0);
  }}.join();
  EXPECT_EQ(runs, 2);
}

TEST(ThreadExit, ClosingRunsThoseOfAllThreadsOnce) {
  int runs = 0;
  int others = 0;
  std::latch registered{1};
  std::latch closed{1};
  std::thread thread{[&] {
    register_thread_exit(count, &runs, nullptr);
    register_thread_exit(count_too, &others, nullptr);
    registered.count_down();
    closed.wait();
  }};
  registered.wait();
  run_thread_exits(code(count), code(count) + 1);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(others, 0);
  closed.count_down();
  thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(others, 1);
}

TEST(ThreadExit, DroppedOnesNeverRun) {
  int runs = 0;
  std::thread{[&] {
    register_thread_exit(count, &runs, nullptr);
    drop_thread_exits(code(count), code(count) + 1);
  }}.join();
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace tandem::aoti
