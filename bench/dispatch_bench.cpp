#include "null_chain.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

// What a step costs beyond the work it does: delegates that do nothing, beside a loop over function pointers.

namespace tandem {
namespace {

using bench::NullChain;

/// One whole execution: checks, inputs, outputs and `range(0)` delegates in a row.
void null_delegates(benchmark::State& state) {
  NullChain b{state.range(0)};
  testing::TestRun run{b};
  if (!run.loaded().ok()) std::abort();
  const std::vector<Value> inputs{testing::floats({4}, {1, 2, 3, 4})};
  std::vector<Value> outputs(1);
  for (auto _ : state) {
    if (!run.run_into(inputs, outputs).ok()) std::abort();
  }
  state.counters["per_delegate"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(null_delegates)->Arg(1)->Arg(25)->Arg(1000);

void function_pointers(benchmark::State& state) {
  using Function = void (*)(void*);
  const Function nothing = [](void* data) { benchmark::DoNotOptimize(data); };
  std::vector<Function> functions(static_cast<std::size_t>(state.range(0)), nothing);
  benchmark::DoNotOptimize(functions.data());
  for (auto _ : state) {
    for (const Function function : functions) function(&functions);
  }
  state.counters["per_delegate"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(function_pointers)->Arg(25)->Arg(1000);

}  // namespace
}  // namespace tandem
