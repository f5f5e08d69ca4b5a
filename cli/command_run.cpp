#include "base/errno_error.h"
#include "cli/choose_method.h"
#include "cli/command.h"
#include "cli/device_values.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/measure.h"
#include "cli/npy.h"
#include "cli/program_options.h"
#include "cli/replay.h"
#include "cli/stream_options.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "cli/value_text.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  ProgramOptions program{};
  std::vector<std::string> expected{};
  MeasureOptions measure{};
  std::string output{};
  std::string device = "host";
  StreamOptions streams{};
  SharedBuffers shared_buffers{};
  std::vector<std::string> replay{};
  bool json = false;
};

Error with_argument(Error error, std::size_t argument) {
  return std::move(error).with_argument(static_cast<int>(argument));
}

/// One entry per --expect; "any" leaves an output unchecked.
Result<std::vector<std::optional<Value>>> read_expected(const RunOptions& options, const MethodMeta& meta) {
  std::vector<std::optional<Value>> expected;
  if (!options.expected.empty() && options.expected.size() != meta.outputs.size()) {
    return Error{ErrorCode::InvalidArgument, "one --expect per output; --expect any leaves one unchecked"}
        .with_expected(std::to_string(meta.outputs.size()), std::to_string(options.expected.size()))
        .with_method(meta.name);
  }
  for (std::size_t i = 0; i < options.expected.size(); ++i) {
    if (options.expected[i] == "any") {
      expected.emplace_back();
      continue;
    }
    std::optional<ScalarType> dtype;
    if (meta.outputs[i].kind == Value::Kind::Tensor) dtype = meta.outputs[i].tensor.dtype;
    Result<Value> value = parse_value(options.expected[i], dtype);
    if (!value.ok()) return with_argument(std::move(value).error(), i);
    expected.emplace_back(std::move(value).value());
  }
  return expected;
}

/// `out<index>.npy` for every tensor; the other entries are empty.
Result<std::vector<std::string>> write_outputs(const fs::path& folder, const std::vector<Value>& outputs) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return base::errno_error("folder cannot be made", code.value()).with_file(folder.string());
  std::vector<std::string> files(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_tensor()) continue;
    const fs::path file = folder / fmt::format("out{}.npy", i);
    TANDEM_CHECK_OK(write_npy(file, outputs[i].tensor()));
    files[i] = file.string();
  }
  return files;
}

struct RunReport {
  std::string method{};
  std::chrono::nanoseconds load{};  ///< Of program and method, without the arrays.
  std::vector<Value> inputs{};
  bool checked = false;
  Measurement measurement{};
  Comparison comparison{};  ///< Over all outputs.
  std::vector<std::string> files{};
};

Json run_json(const RunOptions& options, const RunReport& report) {
  const Measurement& m = report.measurement;
  Json inputs = Json::array();
  for (const Value& value : report.inputs) inputs.push_back(value_json(value));
  Json outputs = Json::array();
  for (std::size_t i = 0; i < m.outputs.size(); ++i) {
    Json output = value_json(m.outputs[i]);
    if (!m.comparisons.empty()) {
      output["matched"] = m.comparisons[i].matched;
      output["max_abs_error"] = number_json(m.comparisons[i].max_abs_error);
      output["mismatch"] = m.comparisons[i].matched ? Json{} : Json(m.comparisons[i].reason);
    }
    if (!report.files.empty() && !report.files[i].empty()) output["file"] = report.files[i];
    outputs.push_back(std::move(output));
  }
  const auto at = [&m](double percent) { return m.times.empty() ? Json{} : Json(to_us(percentile(m.times, percent))); };
  return {{"file", options.program.file},
          {"method", report.method},
          {"device", options.device},
          {"threads", options.measure.threads},
          {"streams", name_of(options.streams.policy)},
          {"schedule_seed", options.streams.seed ? Json(*options.streams.seed) : Json{}},
          {"runs", m.times.size()},
          {"distinct_results", m.distinct_results},
          {"matched", report.checked ? Json(report.comparison.matched) : Json{}},
          {"max_abs_error", report.checked ? number_json(report.comparison.max_abs_error) : Json{}},
          {"rtol", options.measure.tolerance.rtol},
          {"atol", options.measure.tolerance.atol},
          {"load_us", to_us(report.load)},
          {"first_us", m.times.empty() ? Json{} : Json(to_us(m.first))},
          {"min_us", m.times.empty() ? Json{} : Json(to_us(m.times.front()))},
          {"p50_us", at(50)},
          {"p99_us", at(99)},
          {"max_us", m.times.empty() ? Json{} : Json(to_us(m.times.back()))},
          {"interrupted", m.interrupted},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)}};
}

std::string run_text(const RunOptions& options, const RunReport& report) {
  const Measurement& m = report.measurement;
  std::string text = fmt::format("{} {}: {} on {}, {}, {}\n", printable(options.program.file), printable(report.method),
                                 count_text(m.times.size(), "run"), options.device,
                                 count_text(options.measure.threads, "thread"), streams_text(options.streams));
  if (!m.times.empty()) {
    text +=
        fmt::format("time      p50 {:.1f} us, p99 {:.1f} us, first {:.1f} us, load {:.1f} us\n",
                    to_us(percentile(m.times, 50)), to_us(percentile(m.times, 99)), to_us(m.first), to_us(report.load));
  }
  text += fmt::format("results   {} distinct\n", m.distinct_results);
  if (report.checked) {
    text += fmt::format("expected  {}, max abs error {:.3g} (rtol {:g}, atol {:g})\n",
                        report.comparison.matched ? "matched" : "MISMATCH", report.comparison.max_abs_error,
                        options.measure.tolerance.rtol, options.measure.tolerance.atol);
  }
  Table table{{{"output", Table::Align::Right}, {"type"}, {"values"}, {"file"}, {"mismatch"}}};
  for (std::size_t i = 0; i < m.outputs.size(); ++i) {
    table.add({std::to_string(i), type_text(m.outputs[i]), short_text(m.outputs[i]),
               report.files.empty() ? "" : report.files[i], m.comparisons.empty() ? "" : m.comparisons[i].reason});
  }
  return table.empty() ? text : text + table.to_string(0);
}

Result<ExitCode> run_program(const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  TANDEM_TRY(const DeviceId device, parse_device(options.device));
  RunReport report;
  const Clock::time_point before_program = Clock::now();
  TANDEM_TRY(const std::shared_ptr<const Program> program,
             Program::load(options.program.file, data_files(options.program)));
  report.load = Clock::now() - before_program;

  // Arrays are read before the method is loaded: a mistyped name should not cost a minute of loading.
  TANDEM_TRY(report.method, choose_method(program->method_names(), options.program.method, options.program.file));
  TANDEM_TRY(const MethodMeta meta, program->method_meta(report.method));
  TANDEM_TRY(report.inputs, make_inputs(options.program, meta));
  TANDEM_TRY(const std::vector<std::optional<Value>> expected, read_expected(options, meta));

  MethodOptions method_options;
  method_options.device = device;
  method_options.shared_buffers = options.shared_buffers;
  apply(options.streams, method_options);
  const Clock::time_point before_method = Clock::now();
  Result<std::shared_ptr<Method>> method = Method::load(program, report.method, method_options);
  if (!method.ok()) return with_data_hint(std::move(method).error(), options.program.file);
  report.load += Clock::now() - before_method;

  TANDEM_TRY(const std::vector<Value> inputs, to_device(report.inputs, (*method)->meta(), device));
  MeasureOptions measure_options = options.measure;
  measure_options.scheduler = method_options.scheduler.get();
  measure_options.seed = options.streams.seed.value_or(0);
  TANDEM_TRY(report.measurement, measure(**method, inputs, expected, measure_options));
  report.checked = !report.measurement.comparisons.empty();
  for (const Comparison& one : report.measurement.comparisons) report.comparison.merge(one);
  if (!options.output.empty()) {
    TANDEM_TRY(report.files, write_outputs(options.output, report.measurement.outputs));
  }

  fmt::print("{}", options.json ? to_text(run_json(options, report)) : run_text(options, report));
  if (report.measurement.interrupted) return ExitCode::Interrupted;
  return report.comparison.matched ? ExitCode::Good : ExitCode::Mismatch;
}

Result<ExitCode> replay_folders(const RunOptions& options) {
  TANDEM_TRY(const DeviceId device, parse_device(options.device));
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t runs = 0;
  Verdict worst = Verdict::Pass;
  Json folders = Json::array();
  for (const std::string& folder : options.replay) {
    if (interrupted()) break;
    if (!options.json) fmt::print("{}\n", printable(folder));
    MethodOptions method_options;
    method_options.device = device;
    method_options.shared_buffers = options.shared_buffers;
    apply(options.streams, method_options);
    const FolderReport report = replay(folder, method_options, [&](const CaseReport& one) {
      runs += one.runs;
      ++(one.verdict == Verdict::Pass ? passed : failed);
      if (!options.json) {
        fmt::print("  {}", case_line(one));
        std::fflush(stdout);
      }
    });
    if (report.error) {
      ++failed;
      if (!options.json) fmt::print("  ERROR  {}\n", printable(report.error->to_string()));
    }
    worst = std::max(worst, report.verdict());
    if (options.json) folders.push_back(folder_json(report));
  }
  const bool stopped = interrupted();
  if (options.json) {
    fmt::print("{}", to_text({{"verdict", name_of(worst)},
                              {"passed", passed},
                              {"failed", failed},
                              {"runs", runs},
                              {"interrupted", stopped},
                              {"folders", std::move(folders)}}));
  } else {
    fmt::print("replay: {} passed, {} failed, {}{}\n", passed, failed, count_text(runs, "run"),
               stopped ? ", interrupted" : "");
  }
  if (stopped) return ExitCode::Interrupted;
  return worst == Verdict::Pass ? ExitCode::Good : worst == Verdict::Fail ? ExitCode::Mismatch : ExitCode::Failed;
}

constexpr const char* kFooter = R"(Values (--input, --expect):
  x.npy  int:3  float:0.5  bool:true  string:abc  none
  Files are NumPy's .npy; bfloat16 is stored as uint16. One option per value, in the method's order.

Examples:
  tandem run model.pte --data weights.ptd --input x.npy --output results
  tandem run model.pte --data weights.ptd --input x.npy --expect y.npy --rtol 1e-4
  tandem run model.pte --random 7 --shape 0:4x16 --repeat 1000 --threads 4 --json
  tandem run model.pte --random 7 --repeat 100 --schedule-seed 1
  tandem run model.pte --random 7 --repeat 100 --schedule-seed 1 --streams per-delegate --allow-races
  tandem run --replay bug-report
  tandem run --replay decoder --share-buffers k_cache,v_cache
  tandem run --replay tests/fixtures/digits tests/fixtures/split25

Exit codes: 0 good; 1 a result differs from what was expected; 2 usage, file, load or execution error; 130 Ctrl-C.)";

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand("run", "Run a method, or replay case folders, and compare with expected values");
  run->footer(kFooter);
  CLI::Option* replay = run->add_option("--replay", options->replay, "Run every case of these case folders and compare")
                            ->type_name("DIR");
  std::vector<CLI::Option*> single = add_program_options(*run, options->program);
  const CLI::Option* file = single.front();
  const auto add = [&](const std::string& name, auto& target, const std::string& text, const std::string& type) {
    CLI::Option* option = run->add_option(name, target, text)->type_name(type)->allow_extra_args(false);
    single.push_back(option);
    return option;
  };
  add("--expect", options->expected, "What the next output must be; 'any' leaves it unchecked", "VALUE");
  add("--rtol", options->measure.tolerance.rtol, "Relative tolerance of --expect", "X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add("--atol", options->measure.tolerance.atol, "Absolute tolerance of --expect", "X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add("--repeat", options->measure.repeat, "Run this many times", "N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  add("--threads", options->measure.threads, "Spread the runs over this many threads that share the method", "N")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  add("--output", options->output, "Write the tensors of one run to DIR/out0.npy and so on", "DIR");
  run->add_option("--device", options->device, "Where to run")->type_name("NAME")->capture_default_str();
  add_stream_options(*run, options->streams);
  add_share_buffers_option(*run, options->shared_buffers);
  run->add_flag("--json", options->json, "Print JSON, see docs/command-line.md");
  run->callback([options, file, replay, single, &action] {
    if (file->empty() && replay->empty()) throw CLI::RequiredError("FILE or --replay");
    // Not with CLI11's excludes(): it would fill the help with both directions of every pair.
    for (const CLI::Option* option : single) {
      if (!replay->empty() && !option->empty()) throw CLI::ExcludesError("--replay", option->get_name());
    }
    if (options->streams.seed && options->measure.threads > 1) {
      throw CLI::ExcludesError("--schedule-seed", "--threads");  // it runs everything on one
    }
    action = [options] {
      catch_interrupts();
      return options->replay.empty() ? run_program(*options) : replay_folders(*options);
    };
  });
}

}  // namespace tandem::cli
