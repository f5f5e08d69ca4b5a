#include "device/host/host_device.h"
#include "null_chain.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <vector>

// What it costs the calling thread to enqueue on a host stream, and what the way there and back takes.

namespace tandem {
namespace {

using bench::NullChain;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Pieces of work, in bursts that the queue holds; the worker runs meanwhile.
void submit_work(benchmark::State& state) {
  const auto stream = *device::HostDevice::instance().make_stream();
  const auto nothing = [](void* /*data*/, std::uint32_t /*index*/) noexcept { return false; };
  constexpr int kBurst = 500;
  for (auto _ : state) {
    const auto start = Clock::now();
    for (int i = 0; i < kBurst; ++i) {
      if (!stream->submit(nothing, nullptr, 0).ok()) std::abort();
    }
    state.SetIterationTime(seconds(Clock::now() - start));
    if (!stream->synchronize().ok()) std::abort();
  }
  state.counters["per_piece"] =
      benchmark::Counter(kBurst, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(submit_work)->UseManualTime();

/// One execution at a time: the call alone, which also wakes the stream's thread if that sleeps.
void execute_async_call(benchmark::State& state) {
  NullChain b{state.range(0)};
  const testing::TestMethod method{b, device::HostDevice::instance()};
  const Stream stream = *Stream::create();
  ExecuteOptions options;
  options.stream = stream;
  const std::vector<Value> inputs{testing::floats({4}, {1, 2, 3, 4})};
  for (auto _ : state) {
    const auto start = Clock::now();
    const auto execution = method.execute_async(inputs, options);
    state.SetIterationTime(seconds(Clock::now() - start));
    if (!execution.ok() || !execution->done().synchronize().ok()) std::abort();
  }
}
BENCHMARK(execute_async_call)->UseManualTime()->Arg(1)->Arg(25);

/// There and back: the whole of execute() on a queued stream, and beside it inline.
void execute_queued(benchmark::State& state) {
  NullChain b{state.range(0)};
  const testing::TestMethod method{b, device::HostDevice::instance()};
  const Stream stream = *Stream::create();
  ExecuteOptions options;
  options.stream = stream;
  const std::vector<Value> inputs{testing::floats({4}, {1, 2, 3, 4})};
  for (auto _ : state) {
    if (!method.execute(inputs, options).ok()) std::abort();
  }
}
BENCHMARK(execute_queued)->Arg(1)->Arg(25);

void execute_inline(benchmark::State& state) {
  NullChain b{state.range(0)};
  const testing::TestMethod method{b, device::HostDevice::instance()};
  const std::vector<Value> inputs{testing::floats({4}, {1, 2, 3, 4})};
  for (auto _ : state) {
    if (!method.execute(inputs).ok()) std::abort();
  }
}
BENCHMARK(execute_inline)->Arg(1)->Arg(25);

}  // namespace
}  // namespace tandem
