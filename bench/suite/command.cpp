#include "bench/suite/command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <thread>

namespace tandem::suite {
namespace {

constexpr int kWrong = 1;
constexpr int kFailed = 2;

bool write(const std::string& path, const std::string& text) {
  std::ofstream file{path};
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "{}: cannot be written\n", path);
  return static_cast<bool>(file);
}

std::string list() {
  std::string text;
  for (const Scenario& scenario : scenarios()) text += fmt::format("{:<18} {}\n", scenario.name, scenario.about);
  return text;
}

}  // namespace

int run_command(const Command& command, int argc, char** argv) {
  CLI::App app{command.about, command.name};
  app.footer(
      fmt::format("Scenarios:\n{}\nExamples:\n  {} --quick\n  {} --only null_chain,shapes --json null.json\n"
                  "Exit status: 0 good; 1 a wrong result, a failed scenario, with --check a count that is off; "
                  "2 usage or a file.\n",
                  list(), command.name, command.name));
  constexpr std::size_t kQuick = 100;
  Report report;
  report.rounds = 1000;
  bool is_quick = false;
  bool is_check = false;
  bool is_list = false;
  int device = 0;
  std::size_t most_threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::string> wanted;
  std::string json;
  std::string markdown;
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) names.emplace_back(scenario.name);
  app.add_option("--rounds", report.rounds, "Samples of each way")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--quick", is_quick, fmt::format("{} rounds", kQuick));
  app.add_option("--only", wanted, "Scenarios to run")->delimiter(',')->check(CLI::IsMember(names));
  app.add_option("--threads", most_threads, "The largest pool")->capture_default_str()->check(CLI::Range(1, 256));
  if (command.has_devices) app.add_option("--device", device, "Number of the GPU")->capture_default_str();
  app.add_flag("--check", is_check, "Counts that are off change the exit status, too");
  app.add_flag("--list", is_list, "List the scenarios and end");
  app.add_option("--json", json, "Write the report to a file, as JSON");
  app.add_option("--markdown", markdown, "Write the report to a file, as tables");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kFailed;
  }
  if (is_list) {
    fmt::print("{}", list());
    return 0;
  }
  if (is_quick) report.rounds = kQuick;
  const auto machine = command.make_machine(device);
  if (!machine.ok()) {
    fmt::print(stderr, "{}: {}\n", command.name, machine.error().to_string());
    return kFailed;
  }
  report.machine = (*machine)->describe();
  run_scenarios({.machine = **machine,
                 .report = report,
                 .rounds = report.rounds,
                 .most_threads = most_threads,
                 .allocations = command.allocations,
                 .system_calls = command.system_calls},
                wanted, [](const char* name) { fmt::print(stderr, "{}...\n", name); });
  fmt::print("{}", text_of(report));
  const bool is_written = (json.empty() || write(json, json_of(report).dump(2) + '\n')) &&
                          (markdown.empty() || write(markdown, markdown_of(report)));
  if (!is_written) return kFailed;
  return report.is_good(is_check) ? 0 : kWrong;
}

}  // namespace tandem::suite
