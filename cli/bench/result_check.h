#pragma once

#include "cli/compare.h"

#include <tandem/result.h>
#include <tandem/value.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli::bench {

/// What the first run must give.
struct Expected {
  std::vector<Value> outputs{};
  Tolerance tolerance{};
};

/// The first result that was wrong.
struct Difference {
  std::string mode{};
  std::uint64_t run = 0;  ///< From 0, since the mode's method was loaded; warm-up runs count.
  std::string reason{};
};

/// Holds every run's result against the other modes': bit by bit the same, each with the first one's, or, where the
/// method keeps state, each with those that ran as often before.
///
/// Thread-safety: any thread.
class ResultCheck {
 public:
  explicit ResultCheck(bool is_stateful, std::optional<Expected> expected = {})
      : is_stateful_{is_stateful}, expected_{std::move(expected)} {}

  /// Notes one result. `outputs` are on the host.
  /// Returns whether it, and all before it, are right.
  /// Errors: OutOfMemory.
  [[nodiscard]] Result<bool> add(std::string_view mode, std::uint64_t run, std::span<const Value> outputs);

  [[nodiscard]] std::optional<Difference> difference() const;
  /// Fingerprint (cli/digest.h) of the first run's outputs; nothing before it.
  [[nodiscard]] std::optional<std::uint64_t> first_digest() const;

 private:
  struct Known {
    std::string mode{};
    std::uint64_t run = 0;
    std::uint64_t digest = 0;
    std::vector<Value> outputs{};  ///< Of a method without state: copies on the host.
  };
  bool fail(std::string_view mode, std::uint64_t run, std::string reason);
  Result<bool> add_first(std::string_view mode, std::uint64_t run, std::span<const Value> outputs);

  const bool is_stateful_;
  const std::optional<Expected> expected_;
  mutable std::mutex mutex_;    // guards all below
  std::vector<Known> known_{};  // by run; one without state
  std::optional<Difference> difference_{};
};

}  // namespace tandem::cli::bench
