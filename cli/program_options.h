#pragma once

#include <tandem/program.h>
#include <tandem/result.h>
#include <tandem/shared_buffers.h>
#include <tandem/value.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

/// FILE, --method, --data, --input, --random and --shape: which method, and on what it runs.
struct ProgramOptions {
  std::string file{};
  std::string method{};
  std::vector<std::string> data{};
  std::vector<std::string> inputs{};
  std::optional<std::uint64_t> random{};
  std::vector<std::string> shapes{};
};

/// Adds all of them; FILE comes first in what is returned. None is required. `options` outlives the parsing.
std::vector<CLI::Option*> add_program_options(CLI::App& command, ProgramOptions& options);

/// Adds --share-buffers. `value` outlives the parsing.
CLI::Option* add_share_buffers_option(CLI::App& command, SharedBuffers& value);

/// The paths of --data.
[[nodiscard]] std::vector<std::filesystem::path> data_files(const ProgramOptions& options);

/// The inputs that are given, in order; with --random also the others: random tensors, and the numbers and texts that
/// the exporter fixed.
///
/// Errors: InvalidArgument, too few inputs without --random, a --shape that is malformed, twice, or for something that
///   is no tensor or is given; as parse_value() and random_tensor(), with the input's index.
[[nodiscard]] Result<std::vector<Value>> make_inputs(const ProgramOptions& options, const MethodMeta& meta);

/// `error` of loading a method of `file`. A missing key is most often a data file that was not named: says so, and
/// which ones lie beside the program.
[[nodiscard]] Error with_data_hint(Error error, const std::filesystem::path& file);

}  // namespace tandem::cli
