#include "base/mapped_file.h"
#include "base/sha256.h"
#include "cli/bench/driver_counts.h"
#include "cli/bench/report.h"
#include "cli/schedule_report.h"
#include "cli/timing.h"

#include <fmt/format.h>

#include <utility>

namespace tandem::cli::bench {
namespace {

Json spread_json(const Times& times) {
  const std::optional<Spread> spread = spread_of(times);
  if (!spread) return {};
  return {{"runs", times.size()},      {"min", to_us(spread->min)}, {"p50", to_us(spread->p50)},
          {"p90", to_us(spread->p90)}, {"p99", to_us(spread->p99)}, {"max", to_us(spread->max)}};
}

Json times_json(const Times& times) {
  Json all = Json::array();
  for (const std::chrono::nanoseconds time : times) all.push_back(to_us(time));
  return all;
}

Json graphs_json(const std::vector<GraphInfo>& graphs) {
  Json all = Json::array();
  for (const GraphInfo& graph : graphs) {
    all.push_back({{"first_instruction", graph.first_instruction},
                   {"last_instruction", graph.last_instruction},
                   {"nodes", graph.nodes},
                   {"in_use", graph.in_use},
                   {"refusal", graph.refusal.empty() ? Json{} : Json(graph.refusal)}});
  }
  return all;
}

Json driver_json(const std::optional<std::map<std::string, double>>& calls) {
  if (!calls) return {};
  const DriverCounts counts = sort_calls(*calls);
  Json by_name = Json::object();
  for (const auto& [name, count] : *calls) by_name[name] = count;
  return {
      {"launches", counts.launches}, {"copies", counts.copies}, {"waits", counts.waits}, {"calls", std::move(by_name)}};
}

Json mode_json(const ModeResult& mode, const std::optional<double>& resolution, bool with_samples) {
  Json json{{"mode", mode.name},
            {"time_us", mode.blocks.empty() ? Json{} : Json(to_us(median_of(mode.blocks)))},
            {"ratio", Json{}},
            {"result_us", spread_json(mode.samples.results)},
            {"enqueue_us", spread_json(mode.samples.enqueues)},
            {"gpu_us", spread_json(mode.samples.gpu)},
            {"blocks_us", times_json(mode.blocks)},
            {"allocations", mode.allocations ? Json(*mode.allocations) : Json{}},
            {"driver", driver_json(mode.driver_calls)},
            {"graphs", graphs_json(mode.graphs)},
            {"note", mode.note.empty() ? Json{} : Json(mode.note)}};
  if (mode.ratio) {
    json["ratio"] = {{"median", mode.ratio->median},
                     {"lowest", mode.ratio->lowest},
                     {"highest", mode.ratio->highest},
                     {"same", is_same(mode.ratio->median, resolution)}};
  }
  if (with_samples) {
    json["samples"] = {{"result_us", times_json(mode.samples.results)},
                       {"enqueue_us", times_json(mode.samples.enqueues)},
                       {"gpu_us", times_json(mode.samples.gpu)}};
  }
  return json;
}

Json machine_json(const BenchReport& report) {
  const Machine& machine = report.machine;
  const auto known = [](const std::string& text) { return text.empty() ? Json{} : Json(text); };
  return {{"cpu", known(machine.cpu)},
          {"threads", machine.threads},
          {"gpu", report.gpu ? Json(report.gpu->name) : Json{}},
          {"driver", report.gpu ? Json(report.gpu->driver) : Json{}},
          {"compiler", machine.compiler},
          {"build_type", known(machine.build_type)}};
}

Result<base::MappedFile> open(const std::filesystem::path& file) { return base::MappedFile::open(file); }

}  // namespace

Status describe_files(const std::filesystem::path& program, const std::vector<std::filesystem::path>& data,
                      BenchReport& report) {
  TANDEM_TRY(const base::MappedFile mapped, open(program));
  report.file = program.string();
  TANDEM_TRY(report.program_sha256, base::sha256_hex(mapped.bytes()));
  for (const std::filesystem::path& file : data) {
    TANDEM_TRY(const base::MappedFile bytes, open(file));
    report.data.push_back({.file = file.string(), .bytes = bytes.bytes().size()});
  }
  return {};
}

Json bench_json(const BenchReport& report, bool with_samples) {
  const BenchResult& result = report.result;
  Json data = Json::array();
  for (const DataFile& file : report.data) data.push_back({{"file", file.file}, {"bytes", file.bytes}});
  Json inputs = Json::array();
  for (const Value& value : report.inputs) inputs.push_back(value_json(value));
  Json modes = Json::array();
  for (const ModeResult& mode : result.modes) modes.push_back(mode_json(mode, result.resolution, with_samples));
  Json left_out = Json::array();
  for (const LeftOut& mode : result.left_out) left_out.push_back({{"mode", mode.name}, {"reason", mode.reason}});
  Json void_json;
  if (result.difference) {
    void_json = {
        {"mode", result.difference->mode}, {"run", result.difference->run}, {"reason", result.difference->reason}};
  }
  return {{"tandem_bench", kSchema},
          {"version", report.machine.version},
          {"command", report.machine.command},
          {"file", report.file},
          {"program_sha256", report.program_sha256},
          {"data", std::move(data)},
          {"method", report.method},
          {"device", to_string(report.device)},
          {"machine", machine_json(report)},
          {"inputs", std::move(inputs)},
          {"runs", report.runs},
          {"warmup", report.warmup},
          {"stateful", result.is_stateful},
          {"fully_async", result.is_fully_async},
          {"work", work_json(result.work)},
          {"fingerprint", result.first_digest ? Json(fmt::format("{:016x}", *result.first_digest)) : Json{}},
          {"expected", result.was_checked ? Json(!result.difference) : Json{}},
          {"void", std::move(void_json)},
          {"resolution", result.resolution ? Json(*result.resolution) : Json{}},
          {"modes", std::move(modes)},
          {"left_out", std::move(left_out)},
          {"interrupted", result.interrupted}};
}

}  // namespace tandem::cli::bench
