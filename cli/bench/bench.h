#pragma once

#include "cli/bench/gpu_tools.h"
#include "cli/bench/modes.h"
#include "cli/bench/result_check.h"
#include "cli/bench/runner.h"
#include "cli/bench/statistics.h"
#include "runtime/work_count.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli::bench {

/// What is to be measured. Inputs are on the host.
struct BenchRequest {
  Workload workload{};
  std::optional<Expected> expected{};
  std::vector<Mode> modes{};  ///< Empty: default_modes().
  ModeNumbers numbers{};      ///< For these.
  std::uint64_t runs = 1000;  ///< Of each mode; more where runs overlap and are short.
  std::uint64_t warmup = 50;  ///< Of each mode.
};

/// What was measured of one mode.
struct ModeResult {
  std::string name{};
  Drive drive = Drive::Single;
  Samples samples{};
  Times
      blocks{};  ///< What one run took in each block: the median where runs do not overlap, else the block by its runs.
  std::optional<Ratio> ratio{};  ///< To the first mode; nothing in a table that is void.
  /// Per run.
  std::optional<double> allocations{};
  std::optional<std::map<std::string, double>> driver_calls{};
  std::vector<GraphInfo> graphs{};
  std::string note{};
};

/// A mode that nobody asked for by name and that cannot be measured.
struct LeftOut {
  std::string name{};
  std::string reason{};
};

struct BenchResult {
  std::vector<ModeResult> modes{};
  std::vector<LeftOut> left_out{};
  runtime::WorkCount work{};
  bool is_stateful = false;  ///< Equal inputs gave other results after other runs.
  bool is_fully_async = false;
  std::optional<double> resolution{};      ///< See resolution_of(); nothing without the modes for it.
  std::optional<Difference> difference{};  ///< The table is void.
  std::optional<std::uint64_t> first_digest{};
  bool was_checked = false;  ///< The first result was compared with an expected one.
  bool interrupted = false;
};

/// Runs every mode, each with a method of its own, in blocks in which all take part, in an order that rotates; within a
/// block single-threaded modes take turns run by run. Every result is checked; a wrong one ends it. Ctrl-C ends it
/// after the run under way. Blocks.
///
/// Errors: InvalidArgument, the inputs; as check_mode(), make_runner() and make_raw_runner() for modes that were asked
///   for; of the first run that failed.
[[nodiscard]] Result<BenchResult> run_bench(const BenchRequest& request);

}  // namespace tandem::cli::bench
