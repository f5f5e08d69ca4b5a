#include "cli/check_report.h"
#include "cli/choose_method.h"
#include "cli/command.h"
#include "cli/inspect_files.h"
#include "cli/inspect_report.h"
#include "cli/picture/order_svg.h"
#include "cli/picture/svg.h"
#include "cli/program_options.h"
#include "cli/stream_options.h"
#include "cli/text.h"
#include "cli/write_file.h"
#include "runtime/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

struct CheckOptions {
  std::string file{};
  std::vector<std::string> data{};
  std::string method{};
  std::string device = "host";
  StreamPolicy streams = StreamPolicy::PerThread;
  SharedBuffers shared_buffers{};
  std::string svg{};
  bool json = false;
};

/// What a file contains is the answer that the command is asked for; that it cannot be read is not.
bool says_unsound(const Error& error) {
  return error.code() == ErrorCode::InvalidProgram || error.code() == ErrorCode::InvalidExternalData ||
         error.code() == ErrorCode::NotSupported;
}

/// By method: everything that it needs and that is not here. Loading stops at the first kind that is missing.
Result<std::map<std::string, std::vector<std::string>>> find_problems(const CheckOptions& options) {
  TANDEM_TRY(const InspectedProgram inspected, read_program(options.file, options.data));
  const Json report = program_json(inspected, BackendRegistry::global());
  std::map<std::string, std::vector<std::string>> problems;
  for (const Json& method : report["methods"]) method["problems"].get_to(problems[method["name"].get<std::string>()]);
  return problems;
}

/// Empty if there is nothing to draw.
Result<std::string> draw(const CheckOptions& options, const MethodCheck& check) {
  if (!check.order) {
    fmt::print(stderr, "tandem: no picture: {} was not loaded; tandem inspect --svg draws it without its delegates\n",
               printable(check.name));
    return std::string{};
  }
  const bool one_each = check.order->policy == StreamPolicy::PerDelegate;
  const std::string title = fmt::format("{}, {}", picture_title(options.file, check.name),
                                        one_each ? "with a stream per delegate" : "on one stream");
  TANDEM_TRY(const std::string svg,
             order_svg(check.method->schedule(), check.order->plan, check.order->conflicts, title));
  TANDEM_CHECK_OK(write_file(options.svg, svg));
  return options.svg;
}

Result<ExitCode> finish(const CheckOptions& options, const CheckReport& report) {
  fmt::print("{}", options.json ? to_text(check_json(report)) : check_text(report));
  return report.good() ? ExitCode::Good : ExitCode::Mismatch;
}

Result<ExitCode> check(const CheckOptions& options) {
  TANDEM_TRY(const DeviceId device, parse_device(options.device));
  CheckReport report{.file = options.file, .data_files = options.data.size()};
  const std::vector<std::filesystem::path> data(options.data.begin(), options.data.end());
  Result<std::shared_ptr<const Program>> program = Program::load(options.file, data);
  if (!program.ok()) {
    if (!says_unsound(program.error())) return std::move(program).error();
    report.unsound = std::move(program).error();
    return finish(options, report);
  }
  std::vector<std::string> names = (*program)->method_names();
  std::string drawn;  // chosen before anything is loaded: a mistyped name should not cost a minute of loading
  if (!options.svg.empty()) {
    TANDEM_TRY(drawn, choose_method(names, options.method, options.file));
  }
  if (!options.method.empty()) {
    TANDEM_TRY(std::string name, choose_method(names, options.method, options.file));
    names = {std::move(name)};
  }
  TANDEM_TRY(auto problems, find_problems(options));
  MethodOptions load;
  load.device = device;
  load.shared_buffers = options.shared_buffers;
  load.states = std::make_shared<runtime::StateStore>();  // one for all methods, as a Module has
  for (const std::string& name : names) {
    report.methods.push_back(check_method(*program, name, load, options.streams, std::move(problems[name])));
    if (name == drawn) {
      TANDEM_TRY(report.picture, draw(options, report.methods.back()));
    }
  }
  report.undecided_buffers = load.states->undecided();
  return finish(options, report);
}

constexpr const char* kFooter = R"(Examples:
  tandem check model.pte --data weights.ptd
  tandem check model.pte --data weights.ptd --streams per-delegate --svg order.svg
  tandem check model.pte --data weights.ptd --device cuda:0
  tandem check model.pte --data weights.ptd --share-buffers all
  tandem check model.pte --data weights.ptd --json

Sound: everything in the files is well-formed and within bounds. Runnable: all operators, backends and data are here, and
the delegates load, so their code comes into this process. Ordered: of every two accesses to the same bytes, one of them a
write, one happens before the other. Nothing is run. Buffers: names that several methods hold a mutable
buffer of, while nothing says whether these are one; docs/state.md tells what that means for a run.

Exit codes: 0 all good; 1 a check failed: not sound, not runnable here or not ordered; 2 usage, or a file that cannot be
read or written; 130 Ctrl-C.)";

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* check_app = app.add_subcommand("check", "Tell whether a program is sound, runnable here and ordered");
  check_app->footer(kFooter);
  check_app->add_option("FILE", options->file, "The program, a .pte")->type_name("")->required();
  check_app->add_option("--data", options->data, "A data file of the program; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  check_app->add_option("--method", options->method, "Check this method only; default: all")->type_name("NAME");
  check_app->add_option("--device", options->device, "Where it is to run")->type_name("NAME")->capture_default_str();
  add_streams_option(*check_app, options->streams,
                     "Check this way to use streams: per-thread (default), per-method, per-delegate");
  add_share_buffers_option(*check_app, options->shared_buffers);
  check_app->add_option("--svg", options->svg, "Draw the streams of --method (default: forward, or the only one)")
      ->type_name("FILE");
  check_app->add_flag("--json", options->json, "Print JSON, see docs/command-line.md");
  check_app->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace tandem::cli
