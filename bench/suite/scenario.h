#pragma once

#include "bench/suite/call.h"
#include "bench/suite/machine.h"
#include "bench/suite/report.h"

#include <tandem/method.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem::suite {

/// Counts something in `work`; nothing where it cannot be counted.
using Counter = std::function<Result<std::optional<std::size_t>>(const std::function<Status()>& work)>;

/// What a run of the suite has. Null counters: nobody counts.
struct Context {
  Machine& machine;
  Report& report;
  std::size_t rounds = 1000;  ///< Samples of each way; scenarios with long samples take fewer.
  std::size_t most_threads = 16;
  Counter allocations{};                        ///< On the calling thread.
  Counter system_calls{};                       ///< Executions of `work` that make one, of one; on the calling thread.
  std::shared_ptr<BackendRegistry> backends{};  ///< With the suite's backend; made by run_scenarios().

  /// How long a kernel takes: enough to be seen on a GPU.
  [[nodiscard]] std::int32_t repeats(std::int32_t on_gpu, std::int32_t on_host) const {
    return machine.is_slow() ? on_host : on_gpu;
  }
  /// Loads a program of the suite's.
  [[nodiscard]] Result<std::shared_ptr<LoadedMethod>> load(const Model& model, MethodOptions options) const;
  [[nodiscard]] Result<std::shared_ptr<LoadedMethod>> load(std::shared_ptr<const BuiltProgram> file,
                                                           MethodOptions options) const;
  /// Measures and reports.
  void measure(Case work) const;
  void note(Fact fact) const { report.facts.push_back(std::move(fact)); }
  /// Reports a count, if there is a counter that can count it.
  [[nodiscard]] Status count(const Counter& counter, Fact fact, const std::function<Status()>& work) const;
  /// What an execution on the host, which is not the first, must not do: allocate and make system calls.
  [[nodiscard]] Status count_costs(const std::string& scenario, const std::string& name, Call& call) const;
};

/// A way to run a program, and the raw way that does the same.
struct Mode {
  const char* name = "";
  GraphPolicy graphs = GraphPolicy::Off;
  RawKind raw = RawKind::Launches;
  const char* against = "";  ///< Name of the raw way.
};
/// The modes of a machine, in the order in which reports have them.
[[nodiscard]] std::span<const Mode> modes_of(const Machine& machine);

/// What was set for a mode; of another way than its raw one, if `against` names it.
struct ModeGoal {
  std::string mode{};
  Goal goal{};
  std::string against{};
};

/// Every mode of the machine beside the raw ways, and the last of these twice: what two equal ways differ by.
struct Comparing {
  Case work{};  ///< Its ways are added to these.
  std::function<Result<std::shared_ptr<Call>>(const Mode& mode)> tandem{};
  std::function<Result<std::shared_ptr<Call>>(RawKind kind)> raw{};
  std::vector<ModeGoal> goals{};
};
[[nodiscard]] Status compare_modes(const Context& context, Comparing comparing);

/// compare_modes() for one model, called on one stream.
struct PlainCase {
  std::string scenario{};
  std::string name{};
  const Model& model;
  std::vector<ModeGoal> goals{};
  double parts = 1;
  std::size_t repeats = 1;
  double tolerance = 0;
  bool has_forked_graph = false;  ///< Adds a raw graph whose kernels run side by side where they can.
};
/// Notes how many launches a graph is, too.
[[nodiscard]] Status measure_plain(const Context& context, const PlainCase& plain);

struct Scenario {
  const char* name = "";
  const char* about = "";
  Status (*run)(const Context& context) = nullptr;
};
/// In the order of a run.
[[nodiscard]] std::span<const Scenario> scenarios();

/// Runs those that `wanted` names, all if it is empty; what fails is noted in the report, and the next one runs.
/// `told` is called with each name before it runs.
void run_scenarios(Context context, std::span<const std::string> wanted, const std::function<void(const char*)>& told);

[[nodiscard]] Status null_chain(const Context& context);
[[nodiscard]] Status branches(const Context& context);
[[nodiscard]] Status kernels(const Context& context);
[[nodiscard]] Status transformer_block(const Context& context);
[[nodiscard]] Status decode_step(const Context& context);
[[nodiscard]] Status two_programs(const Context& context);
[[nodiscard]] Status pool(const Context& context);
[[nodiscard]] Status depth(const Context& context);
[[nodiscard]] Status shapes(const Context& context);
[[nodiscard]] Status load_and_memory(const Context& context);

}  // namespace tandem::suite
