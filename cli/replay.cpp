#include "cli/replay.h"

#include "cli/device_values.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"

#include <tandem/module.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tandem::cli {
namespace {

/// Compares a run's outputs with one call's expectations.
Comparison compare_outputs(std::span<const Value> found, std::span<const Value> expected, const Tolerance& tolerance) {
  if (found.size() != expected.size()) {
    return {false, 0, fmt::format("expected {}, found {}", count_text(expected.size(), "output"), found.size())};
  }
  Comparison all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Comparison one = compare(found[i], expected[i], tolerance);
    if (!one.matched) one.reason = fmt::format("output {}: {}", i, one.reason);
    all.merge(one);
  }
  return all;
}

Status reload(Module& module, const std::string& method) {
  module.unload_method(method);
  return module.load_method(method);
}

/// With inputs and outputs on the host, wherever the program has them.
Result<std::vector<Value>> run_once(Method& method, const std::vector<Value>& inputs) {
  TANDEM_TRY(const std::vector<Value> placed, to_device(inputs, method.meta(), method.device()));
  TANDEM_TRY(std::vector<Value> outputs, method.execute(placed));
  return to_host(std::move(outputs));
}

Status run_case(Module& module, const CaseFolder& folder, const CaseMethod& method, const Case& entry,
                CaseReport& report) {
  TANDEM_TRY(const std::vector<Value> inputs, load_values(folder.folder, entry.inputs));
  TANDEM_TRY(const std::vector<Value> outputs, load_values(folder.folder, entry.outputs));
  if (entry.reload) TANDEM_CHECK_OK(reload(module, method.name));
  TANDEM_TRY(const std::shared_ptr<Method> loaded, module.method(method.name));
  Comparison all;
  const std::int64_t calls = std::max<std::int64_t>(entry.repeat, 1);
  Progress progress{"calls of " + report.label, static_cast<std::uint64_t>(calls)};
  for (std::int64_t call = 0; call < calls && !interrupted(); ++call) {
    progress.update(report.runs);
    TANDEM_TRY(const std::vector<Value> call_inputs, values_of_call(inputs, entry.inputs, entry.repeat != 0, call));
    TANDEM_TRY(const std::vector<Value> expected, values_of_call(outputs, entry.outputs, entry.repeat != 0, call));
    TANDEM_TRY(const std::vector<Value> found, run_once(*loaded, call_inputs));
    ++report.runs;
    Comparison one = compare_outputs(found, expected, entry.tolerance);
    if (!one.matched && entry.repeat != 0) one.reason = fmt::format("call {}: {}", call, one.reason);
    all.merge(one);
  }
  report.max_abs_error = all.max_abs_error;
  if (!all.matched) {
    report.verdict = Verdict::Fail;
    report.detail = std::move(all.reason);
  }
  return {};
}

/// The method must refuse the input, and run afterwards: the first case's inputs stand for any good ones. Their results
/// are not compared, because a method with state has moved on, or had to be reset.
Status run_refusal(Module& module, const CaseFolder& folder, const CaseMethod& method, const Refusal& entry,
                   CaseReport& report) {
  TANDEM_TRY(const std::vector<Value> loaded_inputs, load_values(folder.folder, entry.inputs));
  TANDEM_TRY(const std::vector<Value> inputs, values_of_call(loaded_inputs, entry.inputs, false, 0));
  TANDEM_TRY(const std::shared_ptr<Method> loaded, module.method(method.name));
  const Result<std::vector<Value>> refused = run_once(*loaded, inputs);
  ++report.runs;
  if (refused.ok()) {
    report.verdict = Verdict::Fail;
    report.detail = "accepted, but must be refused" + (entry.reason.empty() ? "" : ": " + printable(entry.reason));
    return {};
  }
  report.detail = "refused: " + refused.error().to_string();
  if (method.cases.empty()) return {};
  const Case& good = method.cases.front();
  TANDEM_TRY(const std::vector<Value> good_loaded, load_values(folder.folder, good.inputs));
  TANDEM_TRY(const std::vector<Value> good_inputs, values_of_call(good_loaded, good.inputs, good.repeat != 0, 0));
  if (const auto state = loaded->state(); state != nullptr && state->is_indeterminate())
    TANDEM_CHECK_OK(state->reset());
  const Result<std::vector<Value>> again = run_once(*loaded, good_inputs);
  ++report.runs;
  if (!again.ok()) {
    report.verdict = Verdict::Fail;
    report.detail += "; then a good input was refused too: " + again.error().to_string();
  }
  return {};
}

Json case_json(const CaseReport& report) {
  return {{"case", report.label},
          {"verdict", name_of(report.verdict)},
          {"runs", report.runs},
          {"max_abs_error", number_json(report.max_abs_error)},
          {"rtol", report.tolerance.rtol},
          {"atol", report.tolerance.atol},
          {"detail", report.detail.empty() ? Json{} : Json(report.detail)},
          {"error", report.error ? error_json(*report.error) : Json{}}};
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Pass:
      return "PASS";
    case Verdict::Fail:
      return "FAIL";
    case Verdict::Error:
      return "ERROR";
  }
  return "ERROR";
}

Verdict FolderReport::verdict() const noexcept {
  if (error) return Verdict::Error;
  Verdict worst = Verdict::Pass;
  for (const CaseReport& one : cases) worst = std::max(worst, one.verdict);
  return worst;
}

FolderReport replay(const std::filesystem::path& path, const MethodOptions& options,
                    const std::function<void(const CaseReport&)>& on_case) {
  FolderReport report;
  report.folder = path;
  Result<CaseFolder> folder = read_case_folder(path);
  if (!folder.ok()) {
    report.error = std::move(folder).error();
    return report;
  }
  MethodOptions load = options;
  if (!load.shared_buffers.is_decided()) load.shared_buffers = folder->shared_buffers;
  for (InputBounds& bounds : input_bounds_of(*folder)) load.input_bounds.push_back(std::move(bounds));
  Module module{folder->program, folder->data_files, std::move(load)};
  if (Status loaded = module.load(); !loaded.ok()) {
    report.error = std::move(loaded).error();
    return report;
  }

  const auto run = [&](std::string label, const Tolerance& tolerance, const auto& body) {
    if (interrupted()) return;
    CaseReport one;
    one.label = std::move(label);
    one.tolerance = tolerance;
    if (Status done = body(one); !done.ok()) {
      one.verdict = Verdict::Error;
      one.error = std::move(done).error();
    }
    on_case(one);
    report.cases.push_back(std::move(one));
  };
  for (const CaseStep& step : folder->order) {
    const CaseMethod& method = folder->methods[step.method];
    const Case& entry = method.cases[step.index];
    run(fmt::format("{}[{}]", method.name, step.index), entry.tolerance,
        [&](CaseReport& one) { return run_case(module, *folder, method, entry, one); });
  }
  for (const CaseMethod& method : folder->methods) {
    for (std::size_t i = 0; i < method.failures.size(); ++i) {
      run(fmt::format("{}.failures[{}]", method.name, i), {},
          [&](CaseReport& one) { return run_refusal(module, *folder, method, method.failures[i], one); });
    }
  }
  report.interrupted = interrupted();
  return report;
}

Json folder_json(const FolderReport& report) {
  Json cases = Json::array();
  for (const CaseReport& one : report.cases) cases.push_back(case_json(one));
  return {{"folder", report.folder.string()},
          {"verdict", name_of(report.verdict())},
          {"error", report.error ? error_json(*report.error) : Json{}},
          {"cases", std::move(cases)}};
}

std::string case_line(const CaseReport& report) {
  std::string line = fmt::format("{:<5}  {:<24}  {:>9}", name_of(report.verdict), printable(report.label),
                                 count_text(report.runs, "run"));
  if (report.error) {
    line += "  " + printable(report.error->to_string());
  } else {
    line += fmt::format("  max abs error {:.3g}", report.max_abs_error);
    if (!report.detail.empty()) line += "  " + printable(report.detail);
  }
  return line + "\n";
}

}  // namespace tandem::cli
