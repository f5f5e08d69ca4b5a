#include "bench/suite/scenario.h"

namespace tandem::suite {
/// On a GPU one thread enqueues both and waits for both. On the host each has a thread, for a thread is what runs them.
Status two_programs(const Context& context) {
  Machine& machine = context.machine;
  const std::vector<Model> models{chain_of(10, context.repeats(4001, 41), 0.25F),
                                  chain_of(10, context.repeats(4001, 41), 0.5F)};
  const Inputs inputs = some_inputs(models.front());
  const auto both = [&](std::vector<std::shared_ptr<Call>> calls) {
    return machine.is_host() ? on_threads(machine, std::move(calls), 10) : together(std::move(calls));
  };
  const auto tandem = [&](const Mode& mode, StreamPolicy streams) -> Result<std::shared_ptr<Call>> {
    MethodOptions options;
    options.graphs = mode.graphs;
    options.streams = streams;
    std::vector<std::shared_ptr<Call>> calls;
    for (const Model& model : models) {
      TANDEM_TRY(auto method, context.load(model, options));
      TANDEM_TRY(auto call, TandemCall::create(machine, std::move(method), {.model = model, .inputs = inputs}));
      calls.push_back(std::move(call));
    }
    return both(std::move(calls));
  };
  Comparing comparing;
  Case& work = comparing.work;
  work.scenario = "two_programs";
  work.name = machine.is_host() ? "a thread each" : "a stream each";
  work.rounds = context.rounds;
  for (const Model& model : models) {
    TANDEM_TRY(const std::vector<float> one, expected_of(model, inputs));
    work.expected.insert(work.expected.end(), one.begin(), one.end());
  }
  // On the host the threads' own streams, which run everything inline.
  const StreamPolicy streams = machine.is_host() ? StreamPolicy::PerThread : StreamPolicy::PerMethod;
  comparing.tandem = [&](const Mode& mode) { return tandem(mode, streams); };
  comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
    std::vector<std::shared_ptr<Call>> calls;
    for (const Model& model : models) {
      TANDEM_TRY(auto call, RawCall::create(machine, kind, {.model = model, .inputs = inputs}));
      calls.push_back(std::move(call));
    }
    return both(std::move(calls));
  };
  comparing.goals = {{"graph", {.ratio = 1.05}}};
  if (!machine.is_host()) {
    TANDEM_TRY(auto call, tandem({.graphs = GraphPolicy::On}, StreamPolicy::PerThread));
    work.ways.push_back(way_of("graph, one stream", std::move(call), "raw graph"));
  }
  return compare_modes(context, std::move(comparing));
}

}  // namespace tandem::suite
