#include "cli/bench/bench.h"
#include "cli/bench/bench_svg.h"
#include "cli/bench/compare_benches.h"
#include "cli/bench/report.h"
#include "cli/case_folder.h"
#include "cli/choose_method.h"
#include "cli/command.h"
#include "cli/device_values.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/program_options.h"
#include "cli/write_file.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  ProgramOptions program{};
  std::string case_folder{};
  std::string device = "host";
  std::string modes{};
  bench::ModeNumbers numbers{};
  std::uint64_t runs = 1000;
  std::uint64_t warmup = 50;
  std::string svg{};
  std::string compare{};
  bool samples = false;
  bool json = false;
};

/// What is to run: of the options, or of a case folder.
struct Subject {
  fs::path file{};
  std::vector<fs::path> data{};
  std::shared_ptr<const Program> program{};
  std::string method{};
  std::vector<Value> inputs{};
  std::optional<bench::Expected> expected{};
};

Result<Subject> subject_of_options(const ProgramOptions& options) {
  Subject subject{.file = options.file, .data = data_files(options)};
  TANDEM_TRY(subject.program, Program::load(subject.file, subject.data));
  TANDEM_TRY(subject.method, choose_method(subject.program->method_names(), options.method, options.file));
  TANDEM_TRY(const MethodMeta meta, subject.program->method_meta(subject.method));
  TANDEM_TRY(subject.inputs, make_inputs(options, meta));
  return subject;
}

/// The first case of a method: it is the one that holds for a method that was just loaded.
Result<Subject> subject_of_case(const std::string& path, const std::string& wanted) {
  TANDEM_TRY(const CaseFolder folder, read_case_folder(path));
  Subject subject{.file = folder.program, .data = folder.data_files};
  TANDEM_TRY(subject.program, Program::load(subject.file, subject.data));
  TANDEM_TRY(subject.method, choose_method(subject.program->method_names(), wanted, subject.file.string()));
  const auto method = std::ranges::find(folder.methods, subject.method, &CaseMethod::name);
  if (method == folder.methods.end() || method->cases.empty()) {
    return Error{ErrorCode::NotFound, "the folder has no case of this method"}.with_file(path).with_method(
        subject.method);
  }
  const Case& first = method->cases.front();
  const auto values = [&](const std::vector<CaseValue>& described) -> Result<std::vector<Value>> {
    TANDEM_TRY(const std::vector<Value> loaded, load_values(folder.folder, described));
    return values_of_call(loaded, described, first.repeat != 0, 0);
  };
  TANDEM_TRY(subject.inputs, values(first.inputs));
  subject.expected.emplace();
  TANDEM_TRY(subject.expected->outputs, values(first.outputs));
  subject.expected->tolerance = first.tolerance;
  return subject;
}

Result<ExitCode> run_bench(const BenchOptions& options, bench::AllocationCounter allocations) {
  // What is wrong with the options should not cost a minute of measuring.
  TANDEM_TRY(const DeviceId device, parse_device(options.device));
  bench::BenchRequest request{.numbers = options.numbers, .runs = options.runs, .warmup = options.warmup};
  if (!options.modes.empty()) {
    TANDEM_TRY(request.modes, bench::parse_modes(options.modes, options.numbers));
  }
  Json old_bench;
  if (!options.compare.empty()) {
    TANDEM_TRY(old_bench, bench::read_bench(options.compare));
  }
  TANDEM_TRY(Subject subject, options.case_folder.empty()
                                  ? subject_of_options(options.program)
                                  : subject_of_case(options.case_folder, options.program.method));
  bench::BenchReport report{.method = subject.method,
                            .device = device,
                            .gpu = bench::gpu_facts(device),
                            .machine = bench::this_machine(),
                            .inputs = subject.inputs,
                            .runs = options.runs,
                            .warmup = options.warmup};
  TANDEM_CHECK_OK(bench::describe_files(subject.file, subject.data, report));
  if (!options.compare.empty()) {
    const Result<Json> comparable = bench::compare_benches(old_bench, bench::bench_json(report, false));
    if (!comparable.ok()) return Error{comparable.error()}.with_file(options.compare);
  }

  request.workload = {.program = subject.program,
                      .method = subject.method,
                      .device = device,
                      .inputs = std::move(subject.inputs),
                      .allocations = allocations};
  request.expected = std::move(subject.expected);
  Result<bench::BenchResult> result = bench::run_bench(request);
  if (!result.ok()) return with_data_hint(std::move(result).error(), subject.file);
  report.result = *std::move(result);

  Json json = bench::bench_json(report, options.samples);
  std::string text = bench::bench_text(report);
  const bool is_void = report.result.difference.has_value();
  if (!options.compare.empty() && !is_void) {
    TANDEM_TRY(const Json comparison, bench::compare_benches(old_bench, json));
    text += "\n" + bench::comparison_text(comparison);
    json["comparison"] = comparison;
  }
  fmt::print("{}", options.json ? to_text(json) : text);
  if (!options.svg.empty()) {
    const Result<std::string> svg = bench::bench_svg(report);
    if (svg.ok()) {
      TANDEM_CHECK_OK(write_file(options.svg, *svg));
    } else {
      fmt::print(stderr, "tandem: {}\n", svg.error().message());
    }
  }
  if (is_void) return ExitCode::Mismatch;
  return report.result.interrupted ? ExitCode::Interrupted : ExitCode::Good;
}

std::string footer() {
  std::string text = "Modes (--modes), each with a method of its own:\n";
  for (const bench::ModeKind& kind : bench::mode_kinds()) {
    const std::string name = fmt::format("{}{}{}", kind.name, kind.number.empty() ? "" : ":", kind.number);
    text += fmt::format("  {:<10}  {}\n", name, kind.meaning);
  }
  return text + R"(
Every run's result is compared, bit by bit, with those of the other modes; a wrong one voids the table. Ratios are to
the first mode. What "again" and "eager" differ by is the resolution: a ratio within it is printed as "same".

Examples:
  tandem bench --case tests/fixtures/split25
  tandem bench model.pte --data weights.ptd --random 1 --device cuda:0 --svg bench.svg
  tandem bench model.pte --random 1 --modes eager,again,threads:8,streams:8 --runs 5000
  tandem bench model.pte --random 1 --json > old.json
  tandem bench model.pte --random 1 --compare old.json

Exit codes: 0 good; 1 a result was wrong, the table is void; 2 usage, file, load or execution error; 130 Ctrl-C.)";
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action, bench::AllocationCounter allocations) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench_app = app.add_subcommand("bench", "Time a method in several modes, and check every result");
  bench_app->footer(footer());
  const std::vector<CLI::Option*> program = add_program_options(*bench_app, options->program);
  const auto add = [bench_app](const std::string& name, auto& target, const std::string& text,
                               const std::string& type) {
    return bench_app->add_option(name, target, text)->type_name(type)->allow_extra_args(false);
  };
  const CLI::Option* folder =
      add("--case", options->case_folder,
          "Take program, inputs and expected outputs from the first case of a case folder", "DIR");
  add("--device", options->device, "Where to run", "NAME")->capture_default_str();
  add("--modes", options->modes,
      "What to measure, as eager,again,threads:8; default: what the device and the method allow", "LIST");
  add("--runs", options->runs, "Runs of each mode that are timed", "N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}))
      ->capture_default_str();
  add("--warmup", options->warmup, "Runs of each mode before that", "N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  add("--threads", options->numbers.threads, "N of threads and streams that are named without it", "N")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  add("--depth", options->numbers.depth, "N of depth that is named without it", "N")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  add("--svg", options->svg, "Also draw the times to this file", "FILE");
  add("--compare", options->compare, "Also compare with what an earlier --json wrote", "FILE");
  const CLI::Option* samples = bench_app->add_flag("--samples", options->samples, "With --json: the times of all runs");
  bench_app->add_flag("--json", options->json, "Print JSON, see docs/command-line.md");
  bench_app->callback([options, program, folder, samples, allocations, &action] {
    if (program.front()->empty() && folder->empty()) throw CLI::RequiredError("FILE or --case");
    for (const CLI::Option* option : program) {
      if (folder->empty() || option->empty() || option->get_name() == "--method") continue;
      throw CLI::ExcludesError("--case", option->get_name());
    }
    if (!samples->empty() && !options->json) throw CLI::RequiresError("--samples", "--json");
    action = [options, allocations] {
      catch_interrupts();
      return run_bench(*options, allocations);
    };
  });
}

}  // namespace tandem::cli
