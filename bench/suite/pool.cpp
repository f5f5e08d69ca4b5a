#include "bench/suite/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::suite {
namespace {

Status on_threads_of(const Context& context, std::size_t threads) {
  Machine& machine = context.machine;
  constexpr std::size_t kCalls = 20;  ///< Of each thread in one sample.
  const Model model = chain_of(10, context.repeats(1001, 11), 0.25F);
  const Inputs inputs = some_inputs(model);
  const CallSpec spec{.model = model, .inputs = inputs};
  Comparing comparing;
  Case& work = comparing.work;
  work.scenario = "pool";
  work.name = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  work.rounds = std::max<std::size_t>(context.rounds / 20, 10);
  work.warmup = 3;
  TANDEM_TRY(const std::vector<float> one, expected_of(model, inputs));
  for (std::size_t t = 0; t < threads; ++t) work.expected.insert(work.expected.end(), one.begin(), one.end());
  comparing.tandem = [&](const Mode& mode) -> Result<std::shared_ptr<Call>> {
    MethodOptions options;
    options.graphs = mode.graphs;
    options.instances = static_cast<std::uint32_t>(threads);
    // Which thread gets which instance is not said, and every thread has an output of its own.
    options.max_graphs = static_cast<std::uint32_t>(threads);
    TANDEM_TRY(auto method, context.load(model, options));
    std::vector<std::shared_ptr<Call>> calls;
    for (std::size_t t = 0; t < threads; ++t) {
      TANDEM_TRY(auto call, TandemCall::create(machine, method, spec));
      // Else a thread that first meets an instance late would make its graph in a sample.
      if (mode.graphs != GraphPolicy::Off) {
        TANDEM_CHECK_OK(call->enqueue());
        TANDEM_CHECK_OK(call->wait());
        TANDEM_CHECK_OK(call->prepare());
      }
      calls.push_back(std::move(call));
    }
    return on_threads(machine, std::move(calls), kCalls);
  };
  comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
    std::vector<std::shared_ptr<Call>> calls;
    for (std::size_t t = 0; t < threads; ++t) {
      TANDEM_TRY(auto call, RawCall::create(machine, kind, spec));
      calls.push_back(std::move(call));
    }
    return on_threads(machine, std::move(calls), kCalls);
  };
  // A throughput of 0.95.
  comparing.goals = {{"Tandem", {.ratio = 1 / 0.95}}, {"graph", {.ratio = 1 / 0.95}}};
  return compare_modes(context, std::move(comparing));
}

}  // namespace

/// As many instances as threads, a raw graph for each of those. Times are wall time for one execution of any thread.
Status pool(const Context& context) {
  for (std::size_t threads = 1; threads <= context.most_threads; threads *= 2) {
    TANDEM_CHECK_OK(on_threads_of(context, threads));
  }
  return {};
}

}  // namespace tandem::suite
