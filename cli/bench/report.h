#pragma once

#include "cli/bench/bench.h"
#include "cli/bench/machine.h"
#include "cli/json.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli::bench {

/// The number of the JSON's form; others are refused by compare_benches().
inline constexpr std::int64_t kSchema = 1;

struct DataFile {
  std::string file{};
  std::uint64_t bytes = 0;
};

/// Everything that is told of a bench.
struct BenchReport {
  std::string file{};
  std::string program_sha256{};
  std::vector<DataFile> data{};
  std::string method{};
  DeviceId device{};
  std::optional<GpuFacts> gpu{};
  Machine machine{};
  std::vector<Value> inputs{};
  std::uint64_t runs = 0;  ///< That were asked for, of each mode.
  std::uint64_t warmup = 0;
  BenchResult result{};
};

/// Sizes of `files` and the program's fingerprint, which is what tells programs apart.
/// Errors: NotFound, AccessFailed, with the file.
[[nodiscard]] Status describe_files(const std::filesystem::path& program,
                                    const std::vector<std::filesystem::path>& data, BenchReport& report);

/// docs/command-line.md has the fields. `with_samples`: the times of all runs too.
[[nodiscard]] Json bench_json(const BenchReport& report, bool with_samples);
/// The table, for people.
[[nodiscard]] std::string bench_text(const BenchReport& report);

/// What became of a mode's graphs, for people; empty for a mode without.
[[nodiscard]] std::string graphs_text(const ModeResult& mode, bool is_host);

}  // namespace tandem::cli::bench
