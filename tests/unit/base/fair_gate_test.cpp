#include "base/fair_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::base {
namespace {

TEST(FairGateTest, LetsInAsManyAsItHasPermits) {
  for (const std::uint32_t permits : {1U, 3U}) {
    FairGate gate{permits};
    std::atomic<std::uint32_t> inside{0};
    std::atomic<std::uint32_t> most{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          const FairLock lock{gate};
          const std::uint32_t now = ++inside;
          std::uint32_t seen = most;
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          --inside;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(most, permits);
    EXPECT_EQ(inside, 0U);
  }
}

TEST(FairGateTest, GuardsWhatIsInside) {
  FairGate gate;
  int plain = 0;  // the thread sanitizer sees a race if the gate orders nothing
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const FairLock lock{gate};
        ++plain;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plain, 4000);
}

TEST(FairGateTest, FirstComeFirstServed) {
  constexpr std::uint64_t kThreads = 20;  // more than the gate has places to sleep
  FairGate gate;
  gate.enter();
  std::vector<std::uint64_t> order;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const FairLock lock{gate};
      order.push_back(t);
    });
    while (gate.tickets_out() != t + 2) std::this_thread::yield();  // it stands in the queue
  }
  gate.leave();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order.size(), kThreads);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(FairGateTest, TriesOnlyWhenThereIsRoom) {
  FairGate gate{2};
  EXPECT_TRUE(gate.try_enter());
  EXPECT_TRUE(gate.try_enter());
  EXPECT_FALSE(gate.try_enter());
  gate.leave();
  EXPECT_TRUE(gate.try_enter());
  gate.leave();
  gate.leave();
}

}  // namespace
}  // namespace tandem::base
