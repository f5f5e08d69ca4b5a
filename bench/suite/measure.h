#pragma once

#include "bench/suite/goal.h"
#include "bench/suite/statistics.h"

#include <tandem/result.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem::suite {

using Bytes = std::vector<std::byte>;

/// One way to do the work of a case: Tandem in one of its modes, or raw code.
struct Way {
  std::string name{};
  std::function<Status()> enqueue{};  ///< Until it returns: the host's time.
  std::function<Status()> wait{};     ///< Until the work is done; null: enqueue() waits by itself.
  /// The output of one call made for that, which must have overwritten what was there. Null: there is none to look at.
  std::function<Result<Bytes>()> result{};
  std::function<Status()> before{};  ///< Before each sample, untimed. May be null.
  std::function<Status()> after{};   ///< After each sample, untimed. May be null.
  std::size_t calls = 1;             ///< Executions in one enqueue().
  std::string against{};             ///< Name of the way that it is compared with; empty: none.
  Goal goal{};
};

/// Ways that do the same, to be measured in turn.
struct Case {
  std::string scenario{};
  std::string name{};
  std::vector<Way> ways{};
  std::size_t rounds = 1000;  ///< Samples of each way.
  std::size_t warmup = 30;    ///< Calls of each way before anything is timed.
  std::size_t repeats = 1;    ///< Calls in one sample, whose time is divided by it: for what is too short for a clock.
  double parts = 1;           ///< In one call, for goals: delegates, for example.
  /// What the output is, as floats: |found - expected| <= tolerance * (1 + |expected|). Empty: nobody knows. The bits
  /// of all ways must be the same in any case.
  std::vector<float> expected{};
  double tolerance = 0;
};

/// What was found out about one way.
///
/// Units: microseconds for one execution.
struct Line {
  std::string way{};
  std::string fault{};                ///< Not empty: a wrong result or a failure; the numbers are void.
  Spread time{};                      ///< Of the blocks' medians.
  double p99 = 0;                     ///< Of all samples.
  std::optional<Spread> host{};       ///< Where enqueueing and waiting are two things.
  std::optional<Comparison> ratio{};  ///< Where the way it is compared with is good.
  std::string goal{};
  bool is_met = true;
};

struct Measurement {
  std::string scenario{};
  std::string name{};
  std::size_t rounds = 0;
  std::vector<Line> lines{};
  [[nodiscard]] bool is_good() const;
};

using Clock = std::chrono::steady_clock;

/// Measures the ways of a case: each once in every round, in another order each time; results are compared before the
/// first round and after every block of rounds. A way that fails or whose result is wrong is measured no further.
/// `now` is the clock.
[[nodiscard]] Measurement measure(const Case& work, const std::function<Clock::time_point()>& now = &Clock::now);

}  // namespace tandem::suite
