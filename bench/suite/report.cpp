#include "bench/suite/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tandem::suite {
namespace {

using Json = nlohmann::ordered_json;

/// Three digits or more of the number, whatever its size.
std::string number(double value) {
  const double size = std::abs(value);
  return size >= 100  ? fmt::format("{:.0f}", value)
         : size >= 10 ? fmt::format("{:.1f}", value)
         : size >= 1  ? fmt::format("{:.2f}", value)
                      : fmt::format("{:.3f}", value);
}
std::string count(double value) { return fmt::format("{:.0f}", value); }
std::string spread(const Spread& spread) {
  return fmt::format("{} [{}..{}]", number(spread.median), number(spread.lowest), number(spread.highest));
}
std::string ratio(const Comparison& comparison) {
  const Spread& r = comparison.ratio;
  return fmt::format("{:.3f} [{:.3f}..{:.3f}] of {}", r.median, r.lowest, r.highest, comparison.against);
}

constexpr std::array<const char*, 7> kHeads = {"case", "way", "us a call", "p99", "host us", "ratio", "goal"};
using Row = std::array<std::string, kHeads.size()>;

/// The lines of a measurement; a name that repeats is left out.
std::vector<Row> rows_of(const Measurement& measurement) {
  std::vector<Row> rows;
  for (const Line& line : measurement.lines) {
    Row& row = rows.emplace_back();
    if (rows.size() == 1) row[0] = measurement.name;
    row[1] = line.way;
    if (!line.fault.empty()) {
      row[2] = "void: " + line.fault;
      continue;
    }
    row[2] = spread(line.time);
    row[3] = number(line.p99);
    if (line.host) row[4] = number(line.host->median);
    if (line.ratio) row[5] = ratio(*line.ratio);
    if (!line.goal.empty()) row[6] = line.goal + (line.is_met ? ": met" : ": missed");
  }
  return rows;
}

std::vector<std::string> scenarios_of(const Report& report) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Measurement& measurement : report.measurements) add(measurement.scenario);
  for (const Fact& fact : report.facts) add(fact.scenario);
  for (const Failure& failure : report.failures) add(failure.scenario);
  return names;
}

std::string fact_text(const Fact& fact) {
  const std::string limit = fact.limit_text();
  return fact.name + ": " + count(fact.found) +
         (limit.empty() ? "" : fmt::format(" ({}{})", limit, fact.is_good() ? "" : ", missed"));
}

Json json_of(const Spread& spread) {
  return {{"median", spread.median}, {"lowest", spread.lowest}, {"highest", spread.highest}};
}

Json json_of(const Line& line) {
  Json json{{"way", line.way}, {"fault", nullptr}};
  if (!line.fault.empty()) {
    json["fault"] = line.fault;
    return json;
  }
  json["us"] = json_of(line.time);
  json["p99_us"] = line.p99;
  json["host_us"] = line.host ? json_of(*line.host) : Json{};
  json["against"] = line.ratio ? Json(line.ratio->against) : Json{};
  json["ratio"] = line.ratio ? json_of(line.ratio->ratio) : Json{};
  json["difference_us"] = line.ratio ? json_of(line.ratio->difference) : Json{};
  json["host_difference_us"] =
      line.ratio && line.ratio->host_difference ? json_of(*line.ratio->host_difference) : Json{};
  json["goal"] = line.goal.empty() ? Json{} : Json(line.goal);
  json["met"] = line.goal.empty() ? Json{} : Json(line.is_met);
  return json;
}

Json limit_json(const std::optional<double>& limit) { return limit ? Json(*limit) : Json{}; }

}  // namespace

std::string Fact::limit_text() const {
  if (exactly) return "= " + count(*exactly);
  return at_most ? "<= " + count(*at_most) : "";
}

bool Report::is_good(bool and_counts) const {
  return failures.empty() && std::ranges::all_of(measurements, &Measurement::is_good) &&
         (!and_counts || std::ranges::all_of(facts, &Fact::is_good));
}

std::string text_of(const Report& report) {
  std::array<std::size_t, kHeads.size()> widths{};
  for (std::size_t c = 0; c < kHeads.size(); ++c) widths[c] = std::string_view{kHeads[c]}.size();
  for (const Measurement& measurement : report.measurements) {
    for (const Row& row : rows_of(measurement)) {
      if (row[2].starts_with("void")) continue;  // its text runs over the columns
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
  }
  const auto line = [&widths](const auto& cells) {
    std::string text = " ";
    for (std::size_t c = 0; c < cells.size(); ++c) text += fmt::format(" {:<{}}", cells[c], widths[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  };
  std::string text = fmt::format("{}; {} rounds\n", report.machine, report.rounds);
  for (const std::string& scenario : scenarios_of(report)) {
    text += fmt::format("\n{}\n", scenario);
    bool is_first = true;
    for (const Measurement& measurement : report.measurements) {
      if (measurement.scenario != scenario) continue;
      if (std::exchange(is_first, false)) text += line(kHeads);
      for (const Row& row : rows_of(measurement)) text += line(row);
    }
    for (const Fact& fact : report.facts) {
      if (fact.scenario == scenario) text += "  " + fact_text(fact) + '\n';
    }
    for (const Failure& failure : report.failures) {
      if (failure.scenario == scenario) text += "  FAILED: " + failure.reason + '\n';
    }
  }
  return text;
}

std::string markdown_of(const Report& report) {
  const auto line = [](const auto& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); };
  std::string text = fmt::format("{}; {} rounds.\n", report.machine, report.rounds);
  for (const std::string& scenario : scenarios_of(report)) {
    text += fmt::format("\n**{}**\n\n", scenario);
    bool is_first = true;
    for (const Measurement& measurement : report.measurements) {
      if (measurement.scenario != scenario) continue;
      if (std::exchange(is_first, false)) {
        text += line(kHeads) +
                line(std::array<const char*, kHeads.size()>{"---", "---", "---", "---", "---", "---", "---"});
      }
      for (const Row& row : rows_of(measurement)) text += line(row);
    }
    if (!is_first) text += '\n';
    for (const Fact& fact : report.facts) {
      if (fact.scenario == scenario) text += "- " + fact_text(fact) + '\n';
    }
    for (const Failure& failure : report.failures) {
      if (failure.scenario == scenario) text += "- failed: " + failure.reason + '\n';
    }
  }
  return text;
}

Json json_of(const Report& report) {
  Json json{{"machine", report.machine},
            {"rounds", report.rounds},
            {"cases", Json::array()},
            {"facts", Json::array()},
            {"failures", Json::array()}};
  for (const Measurement& measurement : report.measurements) {
    Json ways = Json::array();
    for (const Line& line : measurement.lines) ways.push_back(json_of(line));
    json["cases"].push_back({{"scenario", measurement.scenario},
                             {"case", measurement.name},
                             {"rounds", measurement.rounds},
                             {"ways", std::move(ways)}});
  }
  for (const Fact& fact : report.facts) {
    json["facts"].push_back({{"scenario", fact.scenario},
                             {"name", fact.name},
                             {"found", fact.found},
                             {"at_most", limit_json(fact.at_most)},
                             {"exactly", limit_json(fact.exactly)},
                             {"good", fact.is_good()}});
  }
  for (const Failure& failure : report.failures) {
    json["failures"].push_back({{"scenario", failure.scenario}, {"reason", failure.reason}});
  }
  return json;
}

}  // namespace tandem::suite
