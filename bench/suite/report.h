#pragma once

#include "bench/suite/measure.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tandem::suite {

/// Something counted: launches, allocations, bytes.
struct Fact {
  std::string scenario{};
  std::string name{};
  double found = 0;
  std::optional<double> at_most{};
  std::optional<double> exactly{};
  [[nodiscard]] bool is_good() const { return (!at_most || found <= *at_most) && (!exactly || found == *exactly); }
  /// "= 1", "<= 2097152"; empty where there is no limit.
  [[nodiscard]] std::string limit_text() const;
};

/// A scenario that could not be measured.
struct Failure {
  std::string scenario{};
  std::string reason{};
};

/// Everything that one run of the suite found.
struct Report {
  std::string machine{};
  std::size_t rounds = 0;
  std::vector<Measurement> measurements{};
  std::vector<Fact> facts{};
  std::vector<Failure> failures{};

  /// Whether every result was right and every scenario ran; with `and_counts`, whether every count is in its limit
  /// too. Times fail nothing.
  [[nodiscard]] bool is_good(bool and_counts) const;
};

/// Aligned columns for a terminal; one scenario's lines stand together.
[[nodiscard]] std::string text_of(const Report& report);
/// Tables for a document.
[[nodiscard]] std::string markdown_of(const Report& report);
/// machine, rounds, cases[{scenario, case, rounds, ways[{way, fault, us{median, lowest, highest}, p99_us, host_us,
/// against, ratio, difference_us, host_difference_us, goal, met}]}], facts[{scenario, name, found, at_most, exactly,
/// good}], failures[{scenario, reason}]; what was not measured is null.
[[nodiscard]] nlohmann::ordered_json json_of(const Report& report);

}  // namespace tandem::suite
