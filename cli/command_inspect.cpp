#include "cli/choose_method.h"
#include "cli/command.h"
#include "cli/inspect_files.h"
#include "cli/inspect_report.h"
#include "cli/inspect_text.h"
#include "cli/json.h"
#include "cli/picture/arena_svg.h"
#include "cli/picture/graph_svg.h"
#include "cli/picture/svg.h"
#include "cli/schedule_report.h"
#include "cli/stream_options.h"
#include "cli/write_file.h"
#include "format/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

struct InspectOptions {
  std::string file{};
  std::vector<std::string> data{};
  std::string method{};
  std::string svg{};
  bool all_instructions = false;
  bool schedule = false;
  std::string device = "host";
  StreamPolicy streams = StreamPolicy::PerThread;
  bool json = false;
};

/// By its first bytes; a file that has neither identifier is read as a program, which names what is wrong with it.
Result<bool> is_data_file(const std::string& file) {
  TANDEM_TRY(const base::MappedFile mapped, base::MappedFile::open(file));
  return format::probe(mapped.bytes()) == format::FileKind::Ptd;
}

Status draw(const InspectedProgram& program, const InspectOptions& options) {
  std::vector<std::string> names;
  for (const format::Method& method : program.program.methods) names.emplace_back(method.name);
  TANDEM_TRY(const std::string name, choose_method(names, options.method, options.file));
  const std::size_t index = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  TANDEM_TRY(const MethodGraph graph, make_graph(program.program.methods[index]));
  TANDEM_TRY(const std::string svg, graph_svg(graph, picture_title(options.file, name)));
  return write_file(options.svg, svg);
}

Result<Json> report_of(const InspectOptions& options) {
  TANDEM_TRY(const bool data_file, is_data_file(options.file));
  if (!data_file) {
    TANDEM_TRY(const InspectedProgram program, read_program(options.file, options.data));
    if (!options.svg.empty()) TANDEM_CHECK_OK(draw(program, options));
    return program_json(program, BackendRegistry::global());
  }
  if (!options.data.empty() || !options.svg.empty()) {
    const char* option = options.data.empty() ? "--svg" : "--data";
    return Error{ErrorCode::InvalidArgument, fmt::format("{} goes with a program, and this is a data file", option)}
        .with_file(options.file);
  }
  TANDEM_TRY(const InspectedData data, read_data(options.file));
  return data_json(data);
}

/// Loads the method, which takes what it runs on, and tells what a run does.
Result<Json> schedule_of(const InspectOptions& options) {
  TANDEM_TRY(const DeviceId device, parse_device(options.device));
  const std::vector<std::filesystem::path> data(options.data.begin(), options.data.end());
  TANDEM_TRY(const std::shared_ptr<const Program> program, Program::load(options.file, data));
  TANDEM_TRY(const std::string name, choose_method(program->method_names(), options.method, options.file));
  MethodOptions load;
  load.device = device;
  load.streams = options.streams;
  load.allow_races = true;  // shown here, judged by check
  TANDEM_TRY(const std::shared_ptr<Method> method, Method::load(program, name, load));
  if (!options.svg.empty()) {
    TANDEM_CHECK_OK(write_file(options.svg, arena_svg(method->schedule(), picture_title(options.file, name))));
  }
  const auto described = std::ranges::find(program->file().methods, name, &format::Method::name);
  return schedule_json(method->schedule(), *described);
}

Result<ExitCode> inspect(const InspectOptions& options) {
  if (options.schedule) {
    TANDEM_TRY(const Json schedule, schedule_of(options));
    fmt::print("{}", options.json ? to_text(schedule) : schedule_text(schedule));
    return ExitCode::Good;
  }
  TANDEM_TRY(const Json report, report_of(options));
  constexpr std::size_t kShownInstructions = 64;
  fmt::print("{}", options.json ? to_text(report)
                                : inspect_text(report, options.all_instructions ? SIZE_MAX : kShownInstructions));
  return ExitCode::Good;
}

constexpr const char* kFooter = R"(Examples:
  tandem inspect model.pte
  tandem inspect model.pte --data weights.ptd --instructions
  tandem inspect weights.ptd
  tandem inspect model.pte --data weights.ptd --json
  tandem inspect model.pte --svg model.svg
  tandem inspect model.pte --data weights.ptd --schedule --device cuda:0
  tandem inspect model.pte --data weights.ptd --schedule --svg memory.svg

But for --schedule, nothing is loaded or run; weights are not read. What a program needs that is not here (backends, operators, keys) is
listed and is no error: the exit code is 0. It is 2 for usage, and for a file that cannot be read or is malformed.)";

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect_app = app.add_subcommand("inspect", "Show what a program or a data file contains");
  inspect_app->footer(kFooter);
  inspect_app->add_option("FILE", options->file, "A program (.pte) or a data file (.ptd)")->type_name("")->required();
  inspect_app->add_option("--data", options->data, "A data file of the program; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  CLI::Option* svg =
      inspect_app
          ->add_option("--svg", options->svg,
                       "Also draw a method: who hands what to whom; with --schedule: its memory over time")
          ->type_name("FILE");
  inspect_app
      ->add_option("--method", options->method, "The method of --svg and --schedule; default: forward, or the only one")
      ->type_name("NAME");
  CLI::Option* schedule = inspect_app->add_flag(
      "--schedule", options->schedule, "Load a method and show what a run does: memory, copies, steps, streams");
  CLI::Option* device =
      inspect_app->add_option("--device", options->device, "Where --schedule loads it")->type_name("NAME");
  CLI::Option* streams = add_streams_option(
      *inspect_app, options->streams, "The streams of --schedule: per-thread (default), per-method, per-delegate");
  inspect_app->add_flag("--instructions", options->all_instructions, "List all instructions, not only the first 64");
  inspect_app->add_flag("--json", options->json, "Print JSON, see docs/command-line.md");
  inspect_app->callback([options, svg, schedule, device, streams, &action] {
    if (!options->method.empty() && svg->empty() && schedule->empty()) {
      throw CLI::RequiresError("--method", "--svg or --schedule");
    }
    for (const CLI::Option* option : {device, streams}) {
      if (!option->empty() && schedule->empty()) throw CLI::RequiresError(option->get_name(), "--schedule");
    }
    action = [options] { return inspect(*options); };
  });
}

}  // namespace tandem::cli
