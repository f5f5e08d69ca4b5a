#include "cli/schedule_report.h"

#include "cli/text.h"
#include "runtime/order/arena_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

using runtime::BufferPlan;
using runtime::Schedule;
using runtime::Step;
using runtime::StreamPlan;

std::string_view name_of(BufferPlan::Kind kind) {
  switch (kind) {
    case BufferPlan::Kind::Arena:
      return "arena";
    case BufferPlan::Kind::State:
      return "state";
    case BufferPlan::Kind::Input:
      return "input";
    case BufferPlan::Kind::Output:
      return "output";
    case BufferPlan::Kind::Constant:
      return "constant";
  }
  return "";
}

Json buffers_json(const Schedule& schedule) {
  Json buffers = Json::array();
  for (std::size_t b = 0; b < schedule.buffers.size(); ++b) {
    const BufferPlan& plan = schedule.buffers[b];
    buffers.push_back({{"buffer", b},
                       {"kind", name_of(plan.kind)},
                       {"arena", plan.kind == BufferPlan::Kind::Arena ? Json(plan.memory_id) : Json{}},
                       {"value", plan.value == runtime::kNone ? Json{} : Json(plan.value)},
                       {"bytes", plan.bytes},
                       {"device", to_string(plan.device)}});
  }
  return buffers;
}

/// How full the arenas are: their bytes, and the most that are in use at the same time, which no plan can go below.
Json arenas_json(const Schedule& schedule) {
  Json arenas = Json::array();
  for (const runtime::ArenaUse& use : runtime::find_arena_use(schedule)) {
    Json values = Json::array();
    for (const runtime::ArenaUse::Value& value : use.values) {
      values.push_back({{"value", value.value},
                        {"first_step", value.first == runtime::kNone ? Json{} : Json(value.first)},
                        {"last_step", value.last == runtime::kNone ? Json{} : Json(value.last)},
                        {"offset", value.offset},
                        {"bytes", value.bytes}});
    }
    const double peak = static_cast<double>(use.peak_bytes);
    arenas.push_back({{"buffer", use.buffer},
                      {"bytes", use.bytes},
                      {"peak_bytes", use.peak_bytes},
                      {"peak_step", use.peak_step},
                      {"ratio", use.peak_bytes == 0 ? Json{} : Json(static_cast<double>(use.bytes) / peak)},
                      {"values", std::move(values)}});
  }
  return arenas;
}

/// Values that the exporter planned on the host and that live on the method's device.
Json promoted_json(const Schedule& schedule, const format::Method& method) {
  Json promoted = Json::array();
  for (std::uint32_t v = 0; v < schedule.values.size(); ++v) {
    const runtime::ValuePlan& plan = schedule.values[v];
    if (plan.device == DeviceId{} || plan.planned_memory_id == 0) continue;
    if (method.arenas[plan.planned_memory_id].device == DeviceId{}) promoted.push_back(v);
  }
  return promoted;
}

/// What the host does before a step.
std::string waits_before(const StreamPlan& plan, std::uint32_t step) {
  std::vector<std::string> waits;
  for (const StreamPlan::Sync& sync : plan.syncs) {
    if (sync.step != step) continue;
    switch (sync.kind) {
      case StreamPlan::Sync::Kind::Join:
        waits.emplace_back("the host waits");
        break;
      case StreamPlan::Sync::Kind::Wait:
        waits.push_back(fmt::format("stream {} waits for event {}", sync.stream, sync.event));
        break;
      case StreamPlan::Sync::Kind::Record:
        waits.push_back(fmt::format("event {} on stream {}", sync.event, sync.stream));
        break;
    }
  }
  return fmt::format("{}", fmt::join(waits, "; "));
}

/// Which graph a step may be a part of, and what it comes right after there if branches run side by side.
struct GraphPlace {
  Json graph{};
  Json branch{};
  Json after{};
};

GraphPlace graph_of(const Schedule& schedule, std::uint32_t step) {
  for (std::size_t r = 0; r < schedule.regions.size(); ++r) {
    const runtime::Region& region = schedule.regions[r];
    if (step < region.first || step >= region.end) continue;
    GraphPlace place{.graph = r};
    if (region.branches == 1) return place;
    place.branch = schedule.branches.of(step);
    place.after = Json::array();
    for (const std::uint32_t earlier : schedule.branches.after_of(step)) place.after.push_back(earlier);
    return place;
  }
  return {};
}

Json steps_json(const Schedule& schedule) {
  Json steps = Json::array();
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const std::uint32_t stream = schedule.streams.stream_of[i];
    GraphPlace graph = graph_of(schedule, i);
    Json arguments = Json::array();
    for (const std::uint32_t value : schedule.args_of(step)) arguments.push_back(value);
    steps.push_back({{"step", i},
                     {"what", describe(schedule, step)},
                     {"arguments", std::move(arguments)},
                     {"stream", stream == runtime::kNone ? Json{} : Json(stream)},
                     {"graph", std::move(graph.graph)},
                     {"branch", std::move(graph.branch)},
                     {"after", std::move(graph.after)},
                     {"before", waits_before(schedule.streams, i)}});
  }
  return steps;
}

/// "0", or "0, branch 2 after 3, 5".
std::string graph_text(const Json& step) {
  if (step["graph"].is_null()) return "";
  std::string text = fmt::format("{}", step["graph"].get<std::size_t>());
  if (step["branch"].is_null()) return text;
  text += fmt::format(", branch {}", step["branch"].get<std::uint32_t>());
  const auto after = step["after"].get<std::vector<std::uint32_t>>();
  if (!after.empty()) text += fmt::format(" after {}", fmt::join(after, ", "));
  return text;
}

Json copies_json(const runtime::WorkCount::Copies& copies) {
  return {{"count", copies.count}, {"bytes", copies.bytes}};
}

}  // namespace

Json work_json(const runtime::WorkCount& work) {
  return {{"steps", work.steps},
          {"delegates", work.delegates},
          {"operators", work.operators},
          {"copies_to_device", copies_json(work.to_device)},
          {"copies_to_host", copies_json(work.to_host)},
          {"copies_on_device", copies_json(work.on_device)},
          {"host_waits", work.host_waits}};
}

Json schedule_json(const Schedule& schedule, const format::Method& method) {
  std::size_t copies = 0;
  for (const Step& step : schedule.steps) copies += step.kind == Step::Kind::Copy ? 1 : 0;
  return {{"method", schedule.method},
          {"device", to_string(schedule.device)},
          {"streams", schedule.streams.streams},
          {"host_waits", schedule.streams.syncs.size()},
          {"copies", copies},
          {"work", work_json(runtime::count_work(schedule))},
          {"promoted", promoted_json(schedule, method)},
          {"buffers", buffers_json(schedule)},
          {"arenas", arenas_json(schedule)},
          {"steps", steps_json(schedule)}};
}

std::string schedule_text(const Json& report) {
  std::string text = fmt::format("schedule of {} on {}\n", printable(report["method"].get<std::string>()),
                                 report["device"].get<std::string>());
  Table buffers{{{"buffer", Table::Align::Right}, {"kind"}, {"bytes", Table::Align::Right}, {"where"}}};
  for (const Json& buffer : report["buffers"]) {
    std::string kind = buffer["kind"];
    if (!buffer["arena"].is_null()) kind += fmt::format(" {}", buffer["arena"].get<std::uint32_t>());
    if (!buffer["value"].is_null()) kind += fmt::format(" v{}", buffer["value"].get<std::uint32_t>());
    buffers.add({fmt::format("{}", buffer["buffer"].get<std::size_t>()), kind,
                 fmt::format("{}", buffer["bytes"].get<std::uint64_t>()), buffer["device"]});
  }
  text += "\n  memory\n" + buffers.to_string(4);
  Table arenas{{{"buffer", Table::Align::Right},
                {"values", Table::Align::Right},
                {"bytes", Table::Align::Right},
                {"most in use", Table::Align::Right},
                {"at step", Table::Align::Right},
                {"ratio", Table::Align::Right}}};
  for (const Json& arena : report["arenas"]) {
    const auto step = arena["peak_step"].get<std::size_t>();
    arenas.add({fmt::format("{}", arena["buffer"].get<std::size_t>()), fmt::format("{}", arena["values"].size()),
                fmt::format("{}", arena["bytes"].get<std::uint64_t>()),
                fmt::format("{}", arena["peak_bytes"].get<std::uint64_t>()),
                step < report["steps"].size() ? fmt::format("{}", step) : "end",
                arena["ratio"].is_null() ? "" : fmt::format("{:.2f}", arena["ratio"].get<double>())});
  }
  if (!arenas.empty())
    text += "\n  arenas: their bytes, and the most that values in use at the same time need\n" + arenas.to_string(4);
  Table steps{{{"#", Table::Align::Right}, {"step"}, {"arguments"}, {"stream"}, {"graph"}, {"before it"}}};
  for (const Json& step : report["steps"]) {
    std::vector<std::string> arguments;
    for (const Json& value : step["arguments"]) arguments.push_back(fmt::format("v{}", value.get<std::uint32_t>()));
    steps.add({fmt::format("{}", step["step"].get<std::uint32_t>()), step["what"],
               fmt::format("{}", fmt::join(arguments, ", ")),
               step["stream"].is_null() ? "host" : fmt::format("{}", step["stream"].get<std::uint32_t>()),
               graph_text(step), step["before"]});
  }
  text += "\n  steps\n" + steps.to_string(4);
  std::vector<std::string> promoted;
  for (const Json& value : report["promoted"]) promoted.push_back(fmt::format("v{}", value.get<std::uint32_t>()));
  text += fmt::format("\n  copies between host and device: {}\n", report["copies"].get<std::size_t>());
  text += fmt::format("  planned on the host, live on the device: {}\n",
                      promoted.empty() ? "none" : fmt::format("{}", fmt::join(promoted, ", ")));
  return text;
}

}  // namespace tandem::cli
