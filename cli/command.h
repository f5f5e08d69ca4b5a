#pragma once

#include "cli/bench/runner.h"
#include "cli/exit_code.h"

#include <tandem/result.h>

#include <CLI/CLI.hpp>

#include <functional>

namespace tandem::cli {

/// What a parsed command line asks for. An Error is printed by the caller.
using Action = std::function<Result<ExitCode>()>;

/// Each adds one command to `app`; when the command is chosen, parsing sets `action`.
/// Lifetime: `action` outlives `app`'s parse.
/// `allocations` may be null: nothing is told of them then.
void add_bench_command(CLI::App& app, Action& action, bench::AllocationCounter allocations);
void add_check_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_pack_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);

}  // namespace tandem::cli
