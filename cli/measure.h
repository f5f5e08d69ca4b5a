#pragma once

#include "cli/compare.h"

#include <tandem/method.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem::cli {

struct MeasureOptions {
  std::uint64_t repeat = 1;
  unsigned threads = 1;
  SeededScheduler* scheduler = nullptr;  ///< If set, run k takes seed `seed` + k. For one thread.
  std::uint64_t seed = 0;
  Tolerance tolerance{};
};

struct Measurement {
  std::vector<std::chrono::nanoseconds> times{};  ///< One per run, ascending.
  std::chrono::nanoseconds first{};               ///< Of the run that was started first: it binds the shapes.
  std::vector<Value> outputs{};                   ///< Of one run.
  std::size_t distinct_results = 0;
  std::vector<Comparison> comparisons{};  ///< Per output, over all runs; unchecked outputs match.
  bool interrupted = false;
};

/// Runs `method` on `inputs` `repeat` times, spread over threads that share it, and compares every distinct result with
/// `expected` (one entry per output, or empty; an entry without value is not checked).
///
/// Ctrl-C ends it after the runs under way.
/// Units: a run's time is execute() alone; with several threads it includes waiting for the others' runs.
/// Errors: of the first run that failed; InvalidArgument, another count of outputs than `expected`.
[[nodiscard]] Result<Measurement> measure(Method& method, std::span<const Value> inputs,
                                          std::span<const std::optional<Value>> expected,
                                          const MeasureOptions& options);

}  // namespace tandem::cli
