#include "bench/suite/scenario.h"

#include "bench/suite/plan_backend.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::suite {
namespace {

constexpr std::array kHostModes = {Mode{"Tandem", GraphPolicy::Off, RawKind::Launches, "direct calls"}};
constexpr std::array kDeviceModes = {Mode{"steps", GraphPolicy::Off, RawKind::Launches, "raw launches"},
                                     Mode{"graph", GraphPolicy::On, RawKind::Graph, "raw graph"},
                                     Mode{"branches", GraphPolicy::Branches, RawKind::Graph, "raw graph"},
                                     Mode{"auto", GraphPolicy::Auto, RawKind::Graph, "raw graph"}};

constexpr std::array kScenarios = {
    Scenario{"null_chain", "25 delegates that do next to nothing: what a delegate costs", null_chain},
    Scenario{"branches", "one input, four independent chains of kernels, a join", branches},
    Scenario{"kernels", "one delegate with 1, 10 and 100 kernels", kernels},
    Scenario{"transformer_block", "five delegates of a block, from host tensor to host tensor", transformer_block},
    Scenario{"decode_step", "a token at a time, with a KV cache that stays on the device", decode_step},
    Scenario{"two_programs", "two programs at the same time", two_programs},
    Scenario{"pool", "threads of a pool, an instance for each", pool},
    Scenario{"depth", "executions back to back, 1 to 4 under way", depth},
    Scenario{"shapes", "8 shapes in turn, then 100 in a random order", shapes},
    Scenario{"load_and_memory", "loading, the first run, memory of the device", load_and_memory},
};

/// A graph that could not be made is no fault: its steps run one by one. Here it has to be made.
Status count_launches(const Context& context, const PlainCase& plain, TandemCall& graph) {
  const std::vector<GraphInfo> graphs = graph.method().graphs();
  context.note({.scenario = plain.scenario,
                .name = plain.name + ", graph: graphs in use",
                .found = static_cast<double>(std::ranges::count_if(graphs, &GraphInfo::in_use)),
                .exactly = 1});
  TANDEM_TRY(const auto launches, context.machine.launches_in([&graph]() -> Status {
    TANDEM_CHECK_OK(graph.enqueue());
    return graph.waits_by_itself() ? Status{} : graph.wait();
  }));
  if (!launches) return {};
  context.note({.scenario = plain.scenario,
                .name = plain.name + ", graph: launches of an execution",
                .found = static_cast<double>(*launches),
                .exactly = 1});
  return {};
}

}  // namespace

std::span<const Mode> modes_of(const Machine& machine) {
  return machine.is_host() ? std::span<const Mode>{kHostModes} : std::span<const Mode>{kDeviceModes};
}

std::span<const Scenario> scenarios() { return kScenarios; }

Result<std::shared_ptr<LoadedMethod>> Context::load(const Model& model, MethodOptions options) const {
  TANDEM_TRY(std::shared_ptr<const BuiltProgram> file, write_program(model, machine.device()));
  return load(std::move(file), std::move(options));
}

Result<std::shared_ptr<LoadedMethod>> Context::load(std::shared_ptr<const BuiltProgram> file,
                                                    MethodOptions options) const {
  TANDEM_TRY(std::shared_ptr<const Program> program, read_program(std::move(file)));
  options.backends = backends.get();
  TANDEM_TRY(auto method, machine.load(std::move(program), options));
  return std::shared_ptr<LoadedMethod>{std::move(method)};
}

void Context::measure(Case work) const { report.measurements.push_back(suite::measure(work)); }

Status Context::count(const Counter& counter, Fact fact, const std::function<Status()>& work) const {
  if (!counter) return {};
  TANDEM_TRY(const std::optional<std::size_t> found, counter(work));
  if (!found) return {};
  fact.found = static_cast<double>(*found);
  note(std::move(fact));
  return {};
}

Status Context::count_costs(const std::string& scenario, const std::string& name, Call& call) const {
  const auto execute = [&call] { return call.enqueue(); };
  TANDEM_CHECK_OK(count(allocations,
                        {.scenario = scenario, .name = name + ": allocations of an execution", .exactly = 0}, execute));
  return count(system_calls,
               {.scenario = scenario, .name = name + ": executions with a system call, of one", .exactly = 0}, execute);
}

Status compare_modes(const Context& context, Comparing comparing) {
  Case& work = comparing.work;
  const std::vector<Way> further = std::exchange(work.ways, {});
  std::vector<Mode> raw;
  for (const Mode& mode : modes_of(context.machine)) {
    TANDEM_TRY(auto call, comparing.tandem(mode));
    Way& way = work.ways.emplace_back(way_of(mode.name, std::move(call), mode.against));
    for (const ModeGoal& goal : comparing.goals) {
      if (goal.mode != mode.name) continue;
      way.goal = goal.goal;
      if (!goal.against.empty()) way.against = goal.against;
    }
    const bool is_known = std::ranges::any_of(raw, [&mode](const Mode& other) { return other.raw == mode.raw; });
    if (!is_known) raw.push_back(mode);
  }
  for (const Mode& mode : raw) {
    TANDEM_TRY(auto call, comparing.raw(mode.raw));
    work.ways.push_back(way_of(mode.against, std::move(call)));
    if (&mode != &raw.back()) continue;
    TANDEM_TRY(auto again, comparing.raw(mode.raw));
    work.ways.push_back(way_of(std::string{mode.against} + " again", std::move(again), mode.against));
  }
  work.ways.insert(work.ways.end(), further.begin(), further.end());
  context.measure(std::move(work));
  return {};
}

Status measure_plain(const Context& context, const PlainCase& plain) {
  Machine& machine = context.machine;
  const Inputs inputs = some_inputs(plain.model);
  const CallSpec spec{.model = plain.model, .inputs = inputs};
  TANDEM_TRY(const Stream stream, machine.make_stream());
  Comparing comparing;
  Case& work = comparing.work;
  work.scenario = plain.scenario;
  work.name = plain.name;
  work.rounds = context.rounds;
  work.repeats = plain.repeats;
  work.parts = plain.parts;
  work.tolerance = plain.tolerance;
  TANDEM_TRY(work.expected, expected_of(plain.model, inputs));
  comparing.goals = plain.goals;
  std::shared_ptr<TandemCall> last;
  std::shared_ptr<TandemCall> graph;
  comparing.tandem = [&](const Mode& mode) -> Result<std::shared_ptr<Call>> {
    MethodOptions options;
    options.graphs = mode.graphs;
    TANDEM_TRY(auto method, context.load(plain.model, options));
    // On the host the calling thread's own stream, which runs everything inline.
    TANDEM_TRY(auto call, TandemCall::create(machine, std::move(method), spec, machine.is_host() ? nullptr : &stream));
    last = call;
    if (mode.graphs == GraphPolicy::On) graph = call;
    return std::shared_ptr<Call>{std::move(call)};
  };
  comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
    TANDEM_TRY(auto call, RawCall::create(machine, kind, spec));
    return std::shared_ptr<Call>{std::move(call)};
  };
  if (plain.has_forked_graph && !machine.is_host()) {
    TANDEM_TRY(auto call, comparing.raw(RawKind::ForkedGraph));
    work.ways.push_back(way_of("raw graph, forked", std::move(call), "raw graph"));
  }
  TANDEM_CHECK_OK(compare_modes(context, std::move(comparing)));
  return machine.is_host() ? context.count_costs(plain.scenario, plain.name, *last)
                           : count_launches(context, plain, *graph);
}

void run_scenarios(Context context, std::span<const std::string> wanted, const std::function<void(const char*)>& told) {
  context.backends = std::make_shared<BackendRegistry>();
  ignore(context.backends->register_backend(kBackendId, make_plan_backend(context.machine)), "the registry is empty");
  for (const Scenario& scenario : scenarios()) {
    if (!wanted.empty() && std::ranges::find(wanted, scenario.name) == wanted.end()) continue;
    told(scenario.name);
    if (const Status ran = scenario.run(context); !ran.ok()) {
      context.report.failures.push_back({scenario.name, ran.error().to_string()});
    }
  }
}

}  // namespace tandem::suite
