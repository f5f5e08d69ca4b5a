#pragma once

#include <tandem/method.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

/// --streams, --graphs, --allow-races and --schedule-seed, of every command that runs methods.
struct StreamOptions {
  StreamPolicy policy = StreamPolicy::PerThread;
  GraphPolicy graphs = GraphPolicy::Auto;
  bool allow_races = false;
  std::optional<std::uint64_t> seed{};
};

/// Adds --streams alone. `policy` outlives the parsing.
CLI::Option* add_streams_option(CLI::App& command, StreamPolicy& policy, const std::string& text);
/// Adds all of them.
void add_stream_options(CLI::App& command, StreamOptions& options);

/// "streams per-delegate, seeds from 7", for people.
[[nodiscard]] std::string streams_text(const StreamOptions& streams);

/// Sets the load options that they stand for.
void apply(const StreamOptions& streams, MethodOptions& options);

}  // namespace tandem::cli
