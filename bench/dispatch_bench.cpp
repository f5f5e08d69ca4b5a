#include "support/method_builder.h"

#include <tandem/backend.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

// What a step costs beyond the work it does: delegates that do nothing, beside a loop over function pointers.

namespace tandem {
namespace {

class NullContext final : public DelegateContext {
 public:
  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override {
    return BoundLayout{};
  }
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override {
    benchmark::DoNotOptimize(args.arguments.data());
    return {};
  }
};

class NullDelegate final : public Delegate {
 public:
  [[nodiscard]] DelegateCapabilities capabilities() const override { return {}; }
  [[nodiscard]] std::size_t output_count() const override { return 1; }
  [[nodiscard]] Result<std::unique_ptr<DelegateContext>> new_context() const override {
    return std::unique_ptr<DelegateContext>{new NullContext};
  }
};

class NullBackend final : public Backend {
 public:
  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                                          const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new NullDelegate};
  }
};

/// One whole execution: checks, inputs, outputs and `range(0)` delegates in a row.
void null_delegates(benchmark::State& state) {
  testing::MethodBuilder b;
  ignore(b.backends.register_backend("Null", std::make_shared<NullBackend>()), "the registry is empty");
  auto from = b.tensor({4}, 0);
  b.inputs({from});
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const auto to = b.tensor({4}, i % 2 == 0 ? 64 : 128);
    b.delegate("Null", {from, to});
    from = to;
  }
  b.outputs({from});
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
