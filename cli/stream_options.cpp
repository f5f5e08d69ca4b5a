#include "cli/stream_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

constexpr std::array kPolicies{StreamPolicy::PerThread, StreamPolicy::PerMethod, StreamPolicy::PerDelegate};

}  // namespace

CLI::Option* add_streams_option(CLI::App& command, StreamPolicy& policy, const std::string& text) {
  std::vector<std::string> names;
  for (const StreamPolicy one : kPolicies) names.emplace_back(name_of(one));
  return command
      .add_option_function<std::string>(
          "--streams",
          [&policy](const std::string& name) {
            policy = *std::ranges::find_if(kPolicies, [&name](StreamPolicy one) { return name_of(one) == name; });
          },
          text)
      ->check(CLI::IsMember{names}.description(""))
      ->type_name("POLICY");
}

void add_stream_options(CLI::App& command, StreamOptions& options) {
  add_streams_option(command, options.policy,
                     "per-thread (default), per-method, or per-delegate: unordered, to show why not");
  command.add_flag("--allow-races", options.allow_races, "Run what the order check refuses; results are arbitrary");
  command
      .add_option("--schedule-seed", options.seed,
                  "Run the streams' work on one thread in an order picked by SEED; run k of --repeat takes SEED+k")
      ->type_name("SEED");
}

std::string streams_text(const StreamOptions& streams) {
  std::string text = "streams " + std::string{name_of(streams.policy)};
  if (streams.seed) text += ", seeds from " + std::to_string(*streams.seed);
  return text;
}

void apply(const StreamOptions& streams, MethodOptions& options) {
  options.streams = streams.policy;
  options.allow_races = streams.allow_races;
  if (streams.seed) options.scheduler = std::make_shared<SeededScheduler>(*streams.seed);
}

}  // namespace tandem::cli
