// Parts of the bench that are a function or two.
#include "cli/bench/driver_counts.h"
#include "cli/bench/gpu_tools.h"
#include "cli/bench/machine.h"
#include "cli/bench/workers.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>

namespace tandem::cli::bench {
namespace {

TEST(MachineTest, TakesTheProcessorsNameFromTheFirstEntry) {
  EXPECT_EQ(processor_name("processor\t: 0\nmodel name\t: Fast CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: Other\n"),
            "Fast CPU @ 2 GHz");
  EXPECT_EQ(processor_name("model name\t: no newline"), "no newline");
  EXPECT_EQ(processor_name("processor: 0\n"), "");
  EXPECT_EQ(processor_name("model name\nflags : a\n"), "");
  EXPECT_EQ(processor_name(""), "");
}

TEST(MachineTest, QuotesWordsOfTheCommandLineWhereAShellWouldNeedIt) {
  using namespace std::string_literals;
  EXPECT_EQ(command_line("tandem\0bench\0a b.pte\0--x=1\0"s), "tandem bench 'a b.pte' --x=1");
  EXPECT_EQ(command_line("it's\0\0"s), "'it'\\''s' ''");
  EXPECT_EQ(command_line(""), "");
}

TEST(MachineTest, KnowsThisOne) {
  const Machine machine = this_machine();
  EXPECT_GT(machine.threads, 0U);
  EXPECT_FALSE(machine.compiler.empty());
  EXPECT_FALSE(machine.version.empty());
  EXPECT_FALSE(machine.command.empty());
}

TEST(DriverCountsTest, SortsCallsByWhatTheyAreFor) {
  const DriverCounts counts = sort_calls({{"cuLaunchKernel", 25},
                                          {"cuGraphLaunch_ptsz", 1},
                                          {"cuMemcpyAsync", 2},
                                          {"cuMemsetD8Async", 1},
                                          {"cuEventSynchronize", 1},
                                          {"cuStreamSynchronize", 2},
                                          {"cuStreamWaitEvent", 4},
                                          {"cuCtxGetCurrent", 30}});
  EXPECT_DOUBLE_EQ(counts.launches, 26);
  EXPECT_DOUBLE_EQ(counts.copies, 3);
  EXPECT_DOUBLE_EQ(counts.waits, 3);
}

TEST(GpuToolsTest, TheHostHasNone) {
  EXPECT_FALSE(gpu_facts({}).has_value());
  const auto timer = make_gpu_timer({});
  ASSERT_TRUE(timer.ok());
  EXPECT_EQ(*timer, nullptr);
}

TEST(GpuToolsTest, WhatIsCountedRuns) {
  int runs = 0;
  static_cast<void>(count_driver_calls([&runs] { ++runs; }));
  EXPECT_EQ(runs, 1);
}

TEST(WorkersTest, EachRunsOnceOnItsOwnThreadEveryTime) {
  Workers workers{3};
  std::array<std::set<std::thread::id>, 3> threads;
  std::atomic<int> runs{0};
  for (int round = 0; round < 5; ++round) {
    workers.run([&](unsigned worker) {
      threads[worker].insert(std::this_thread::get_id());
      ++runs;
    });
  }
  EXPECT_EQ(runs, 15);
  std::set<std::thread::id> all;
  for (const auto& own : threads) {
    EXPECT_EQ(own.size(), 1U);
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), 3U);
}

TEST(WorkersTest, MayEndWithoutHavingRun) { EXPECT_EQ(Workers{2}.count(), 2U); }

}  // namespace
}  // namespace tandem::cli::bench
