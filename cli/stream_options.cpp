#include "cli/stream_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

constexpr std::array kPolicies{StreamPolicy::PerThread, StreamPolicy::PerMethod, StreamPolicy::PerDelegate};
constexpr std::array kGraphPolicies{GraphPolicy::Auto, GraphPolicy::Off, GraphPolicy::On, GraphPolicy::Branches};

/// An option that takes the name of one of `all`.
template <class Policy, std::size_t kCount>
CLI::Option* add_policy(CLI::App& command, const char* option, const std::array<Policy, kCount>& all, Policy& policy,
                        const std::string& text) {
  std::vector<std::string> names;
  for (const Policy one : all) names.emplace_back(name_of(one));
  return command
      .add_option_function<std::string>(
          option,
          [&policy, &all](const std::string& name) {
            policy = *std::ranges::find_if(all, [&name](Policy one) { return name_of(one) == name; });
          },
          text)
      ->check(CLI::IsMember{names}.description(""))
      ->type_name("POLICY");
}

}  // namespace

CLI::Option* add_streams_option(CLI::App& command, StreamPolicy& policy, const std::string& text) {
  return add_policy(command, "--streams", kPolicies, policy, text);
}

void add_stream_options(CLI::App& command, StreamOptions& options) {
  add_streams_option(command, options.policy,
                     "per-thread (default), per-method, or per-delegate: unordered, to show why not");
  add_policy(
      command, "--graphs", kGraphPolicies, options.graphs,
      "Steps on a GPU as one launch: auto (default) where that is faster, off, on, or branches: also side by side");
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
  options.graphs = streams.graphs;
  options.allow_races = streams.allow_races;
  if (streams.seed) options.scheduler = std::make_shared<SeededScheduler>(*streams.seed);
}

}  // namespace tandem::cli
