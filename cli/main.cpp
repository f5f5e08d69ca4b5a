#include "cli/bench/allocations.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/log_sink.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace tandem::cli {
namespace {

constexpr const char* kDescription =
    "Runs ExecuTorch programs that are split over several compiled delegates, in graph order.";
constexpr const char* kFooter = R"(Examples:
  tandem inspect model.pte --data weights.ptd
  tandem check model.pte --data weights.ptd
  tandem run model.pte --data weights.ptd --input x.npy --expect y.npy
  tandem run --replay tests/fixtures/digits
  tandem bench --case tests/fixtures/split25
  tandem pack model.json -o model.pte

Each command has its own --help with examples.)";

/// stdout gets the error only with --json, so that whoever parses it always finds an object there.
ExitCode report(const Error& error, bool json) {
  fmt::print(stderr, "tandem: error: {}\n", printable(error.to_string()));
  if (json) fmt::print("{}", to_text({{"error", error_json(error)}}));
  return ExitCode::Failed;
}

/// A full disk or a closed pipe shows when the buffer is flushed.
ExitCode flush_stdout(ExitCode code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "tandem: error: stdout cannot be written\n");
  return ExitCode::Failed;
}

ExitCode run_command(int argc, char** argv, bool json) {
  CLI::App app{kDescription, "tandem"};
  app.footer(kFooter);
  app.set_version_flag("--version", "tandem " TANDEM_VERSION);
  app.require_subcommand(0, 1);  // 1, and an unknown command would be called a missing one
  app.get_formatter()->column_width(28);
  Action action;
  add_bench_command(app, action, bench::allocation_counter());
  add_inspect_command(app, action);
  add_check_command(app, action);
  add_pack_command(app, action);
  add_run_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    app.exit(asked);
    return ExitCode::Good;
  } catch (const CLI::ParseError& error) {
    return report(Error{ErrorCode::InvalidArgument, fmt::format("{} (see --help)", error.what())}, json);
  }
  if (!action)
    return report(
        Error{ErrorCode::InvalidArgument, "a command is required: bench, check, inspect, pack or run (see --help)"},
        json);
  const Result<ExitCode> done = action();
  return done.ok() ? *done : report(done.error(), json);
}

/// Before parsing, because an error of parsing must be told in JSON too.
bool asks_for_json(int argc, char** argv) noexcept {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  using namespace tandem;
  const bool json = cli::asks_for_json(argc, argv);
  try {
    cli::log_to_stderr();
    return static_cast<int>(cli::flush_stdout(cli::run_command(argc, argv, json)));
  } catch (const std::bad_alloc&) {
    return static_cast<int>(cli::report(Error{ErrorCode::OutOfMemory, "the process is out of memory"}, json));
  } catch (const std::exception& error) {
    return static_cast<int>(cli::report(Error{ErrorCode::Internal, error.what()}, json));
  }
}
