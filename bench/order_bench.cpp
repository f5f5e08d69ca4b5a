#include "cli/case_folder.h"
#include "runtime/order/order_check.h"
#include "runtime/schedule.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

// What the order check costs: on 10,000 steps, and on real programs (beside `load`, of which it is a part).

namespace tandem {
namespace {

using runtime::Schedule;
using runtime::StreamPlan;
using Sync = StreamPlan::Sync;

constexpr std::uint32_t kSteps = 10'000;
constexpr std::uint32_t kSlots = 64;
constexpr std::uint64_t kSlotBytes = 256;

/// Step i reads what the two steps before it wrote and overwrites a slot of an arena: every pair in a window conflicts.
void fill_steps(Schedule& schedule) {
  schedule.buffers.push_back({.bytes = kSlots * kSlotBytes, .memory_id = 1});
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    schedule.steps.push_back(
        {.kind = runtime::Step::Kind::Delegate, .target = i, .first_access = 3 * i, .access_count = 3});
    const auto access = [&](std::uint32_t slot, AccessMode mode) {
      const std::uint64_t begin = slot % kSlots * kSlotBytes;
      schedule.accesses.push_back(
          {.value = slot, .buffer = 0, .begin = begin, .end = begin + kSlotBytes, .mode = mode});
    };
    access(i + kSlots - 2, AccessMode::Read);
    access(i + kSlots - 1, AccessMode::Read);
    access(i, AccessMode::Write);
  }
}

/// Steps in turn on `streams` streams; with events, each waits for the one before it.
StreamPlan round_robin(std::uint32_t streams, bool events) {
  StreamPlan plan{.streams = streams, .events = kSteps};
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    plan.stream_of.push_back(i % streams);
    if (!events || i == 0) continue;
    plan.syncs.push_back({.kind = Sync::Kind::Record, .step = i, .stream = (i - 1) % streams, .event = i});
    plan.syncs.push_back({.kind = Sync::Kind::Wait, .step = i, .stream = i % streams, .event = i});
  }
  plan.syncs.push_back({.kind = Sync::Kind::Join, .step = kSteps});
  return plan;
}

void check_ten_thousand_steps(benchmark::State& state, std::uint32_t streams, bool events) {
  Schedule schedule;
  fill_steps(schedule);
  const StreamPlan plan = round_robin(streams, events);
  const bool ordered = events || streams == 1;
  for (auto _ : state) {
    if (runtime::find_conflicts(schedule, plan).empty() != ordered) std::abort();
  }
}
BENCHMARK_CAPTURE(check_ten_thousand_steps, one_stream, 1, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_ten_thousand_steps, eight_streams_with_events, 8, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_ten_thousand_steps, thousand_streams_with_events, 1'000, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_ten_thousand_steps, stream_per_delegate, kSteps, false)->Unit(benchmark::kMillisecond);

/// PerThread is what `load` has in it; PerDelegate makes the check look at every step.
void check_program(benchmark::State& state, const char* name, StreamPolicy policy) {
  const auto folder = cli::read_case_folder(std::filesystem::path{TANDEM_FIXTURES} / name);
  if (!folder.ok()) std::abort();
  const auto program = Program::load(folder->program, folder->data_files);
  if (!program.ok()) std::abort();
  const auto method = Method::load(*program, "forward", {.streams = policy, .allow_races = true});
  if (!method.ok()) std::abort();
  const Schedule& schedule = (*method)->schedule();
  for (auto _ : state) benchmark::DoNotOptimize(runtime::find_conflicts(schedule, schedule.streams));
}
BENCHMARK_CAPTURE(check_program, plain, "plain", StreamPolicy::PerThread)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check_program, mlp, "mlp", StreamPolicy::PerThread)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check_program, split25, "split25", StreamPolicy::PerThread)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check_program, plain_per_delegate, "plain", StreamPolicy::PerDelegate)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check_program, mlp_per_delegate, "mlp", StreamPolicy::PerDelegate)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(check_program, split25_per_delegate, "split25", StreamPolicy::PerDelegate)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tandem
