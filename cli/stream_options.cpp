#include "cli/stream_options.h"

#include <map>
#include <memory>

namespace tandem::cli {

CLI::Option* add_streams_option(CLI::App& command, StreamPolicy& policy) {
  std::map<std::string, StreamPolicy> names;
  for (const auto one : {StreamPolicy::PerThread, StreamPolicy::PerMethod, StreamPolicy::PerDelegate}) {
    names.emplace(name_of(one), one);
  }
  return command
      .add_option("--streams", policy, "per-thread (default), per-method, or per-delegate: unordered, to show why not")
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""))
      ->type_name("POLICY");
}

void add_stream_options(CLI::App& command, StreamOptions& options) {
  add_streams_option(command, options.policy);
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
