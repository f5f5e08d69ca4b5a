#include "cli/bench/driver_counts.h"
#include "cli/bench/report.h"
#include "cli/text.h"
#include "cli/timing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tandem::cli::bench {
namespace {

std::string us(std::chrono::nanoseconds time) { return fmt::format("{:.1f}", to_us(time)); }

/// A cell of a column that is left out where no mode has it, and says "-" where only some have.
class Column {
 public:
  template <class Has>
  Column(const std::vector<ModeResult>& modes, Has&& has) : used_{std::ranges::any_of(modes, has)} {}
  template <class Write>
  [[nodiscard]] std::string cell(bool has, Write&& write) const {
    return has ? write() : used_ ? "-" : "";
  }

 private:
  bool used_;
};

std::string ratio_text(const BenchResult& result, const ModeResult& mode) {
  if (!mode.ratio) return {};
  if (&mode == &result.modes.front()) return "1";
  const Ratio& ratio = *mode.ratio;
  return fmt::format("{} [{:.2f}..{:.2f}]",
                     is_same(ratio.median, result.resolution) ? "same" : fmt::format("{:.2f}", ratio.median),
                     ratio.lowest, ratio.highest);
}

std::string count(double number) { return fmt::format("{:.3g}", number); }

std::string table_of(const BenchResult& result) {
  const std::vector<ModeResult>& modes = result.modes;
  const std::string to_first = modes.empty() ? "" : "to " + modes.front().name;
  using enum Table::Align;
  Table table{{{"mode"},
               {"p50", Right},
               {"p90", Right},
               {"p99", Right},
               {"max", Right},
               {"a run", Right},
               {to_first},
               {"call p50", Right},
               {"p99", Right},
               {"GPU p50", Right},
               {"new", Right},
               {"launches", Right},
               {"copies", Right},
               {"waits", Right}}};
  const Column enqueue{modes, [](const ModeResult& mode) { return !mode.samples.enqueues.empty(); }};
  const Column gpu{modes, [](const ModeResult& mode) { return !mode.samples.gpu.empty(); }};
  const Column allocations{modes, [](const ModeResult& mode) { return mode.allocations.has_value(); }};
  for (const ModeResult& mode : modes) {
    const std::optional<Spread> times = spread_of(mode.samples.results);
    const std::optional<Spread> enqueues = spread_of(mode.samples.enqueues);
    const std::optional<Spread> on_gpu = spread_of(mode.samples.gpu);
    const DriverCounts calls = mode.driver_calls ? sort_calls(*mode.driver_calls) : DriverCounts{};
    const auto at = [&times](std::chrono::nanoseconds Spread::*field) {
      return times ? us((*times).*field) : std::string{"-"};
    };
    const auto driver = [&](double number) { return mode.driver_calls ? count(number) : std::string{}; };
    table.add({mode.name, at(&Spread::p50), at(&Spread::p90), at(&Spread::p99), at(&Spread::max),
               mode.blocks.empty() ? "-" : us(median_of(mode.blocks)), ratio_text(result, mode),
               enqueue.cell(enqueues.has_value(), [&] { return us(enqueues->p50); }),
               enqueue.cell(enqueues.has_value(), [&] { return us(enqueues->p99); }),
               gpu.cell(on_gpu.has_value(), [&] { return us(on_gpu->p50); }),
               allocations.cell(mode.allocations.has_value(), [&] { return count(*mode.allocations); }),
               driver(calls.launches), driver(calls.copies), driver(calls.waits)});
  }
  return table.to_string(2);
}

std::string copies_text(const char* where, const runtime::WorkCount::Copies& copies) {
  return fmt::format("{} {} ({} bytes)", copies.count, where, copies.bytes);
}

std::string work_text(const runtime::WorkCount& work) {
  std::vector<std::string> parts{count_text(work.steps, "step"), count_text(work.delegates, "delegate"),
                                 count_text(work.operators, "operator")};
  if (work.to_device.count != 0) parts.push_back(copies_text("copied to the device", work.to_device));
  if (work.to_host.count != 0) parts.push_back(copies_text("to the host", work.to_host));
  if (work.on_device.count != 0) parts.push_back(copies_text("on the device", work.on_device));
  if (work.host_waits != 0) parts.push_back(count_text(work.host_waits, "wait") + " of the host between steps");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string machine_text(const BenchReport& report) {
  std::vector<std::string> parts;
  if (report.gpu) parts.push_back(fmt::format("{} ({})", report.gpu->name, report.gpu->driver));
  if (!report.machine.cpu.empty()) parts.push_back(report.machine.cpu);
  parts.push_back(count_text(report.machine.threads, "hardware thread"));
  parts.push_back(report.machine.compiler + (report.machine.build_type.empty() ? "" : " " + report.machine.build_type));
  return printable(fmt::format("{}", fmt::join(parts, ", ")));
}

std::string verdict_text(const BenchResult& result) {
  if (result.difference) {
    return fmt::format("VOID      a wrong result: {}, run {}: {}\n", result.difference->mode, result.difference->run,
                       printable(result.difference->reason));
  }
  if (!result.first_digest) return "results   none\n";
  return fmt::format("results   {}, the first has fingerprint {:016x}{}\n",
                     result.is_stateful ? "change from run to run, in every mode alike" : "the same in every run",
                     *result.first_digest, result.was_checked ? " and is what is expected" : "");
}

}  // namespace

std::string graphs_text(const ModeResult& mode, bool is_host) {
  std::vector<std::string> parts;
  for (const GraphInfo& graph : mode.graphs) {
    const std::string where = fmt::format("instructions {} to {}: ", graph.first_instruction, graph.last_instruction);
    if (!graph.refusal.empty()) {
      parts.push_back(where + "step by step, " + graph.refusal);
    } else if (graph.nodes == 0) {
      parts.push_back(where + "no graph yet");
    } else {
      parts.push_back(fmt::format("{}{} of {}", where, graph.in_use ? "a graph" : "step by step is faster than a graph",
                                  count_text(graph.nodes, "node")));
    }
  }
  if (parts.empty() && is_host) return "step by step: the host has no graphs";
  if (parts.empty()) return "step by step: no steps that may be a graph";
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string bench_text(const BenchReport& report) {
  const BenchResult& result = report.result;
  std::string text =
      fmt::format("{} {} on {}: {} of each mode{}\n", printable(report.file), printable(report.method),
                  to_string(report.device), count_text(report.runs, "run"), result.interrupted ? ", interrupted" : "");
  text += fmt::format("machine   {}\n", machine_text(report));
  text += fmt::format("a run     {}\n", work_text(result.work));
  text += verdict_text(result);
  if (result.modes.empty()) return text;
  text += fmt::format("\n{}microseconds from the call to the result{}\n", result.difference ? "VOID; " : "",
                      result.difference ? ", of no use" : "");
  text += table_of(result);
  if (!result.difference) {
    text += result.resolution
                ? fmt::format("resolution: {:.1f} % (nine blocks of ten of {} against {}); what is below is \"same\"\n",
                              *result.resolution * 100, kAgain, kEager)
                : fmt::format("resolution: unknown, which takes the modes {} and {} and more runs\n", kEager, kAgain);
  }
  for (const ModeResult& mode : result.modes) {
    const auto kind =
        std::ranges::find_if(mode_kinds(), [&mode](const ModeKind& one) { return one.name == mode.name; });
    const bool wants_graphs =
        kind != mode_kinds().end() && kind->drive == Drive::Single && kind->graphs != GraphPolicy::Off;
    if (wants_graphs)
      text += fmt::format("{}: {}\n", mode.name, printable(graphs_text(mode, report.device == DeviceId{})));
    if (!mode.note.empty()) text += fmt::format("{}: {}\n", mode.name, printable(mode.note));
  }
  for (const LeftOut& mode : result.left_out)
    text += fmt::format("{}: left out, {}\n", mode.name, printable(mode.reason));
  return text;
}

}  // namespace tandem::cli::bench
