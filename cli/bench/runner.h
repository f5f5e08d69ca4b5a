#pragma once

#include "cli/bench/gpu_tools.h"
#include "cli/bench/modes.h"
#include "cli/bench/result_check.h"
#include "cli/bench/statistics.h"

#include <tandem/method.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::cli::bench {

/// How often the calling thread has asked for memory with `new` since it started.
using AllocationCounter = std::uint64_t (*)() noexcept;

/// What was measured of one mode, by run.
struct Samples {
  Times results{};                ///< From the call until the result is there.
  Times enqueues{};               ///< The call of execute_async() alone.
  Times gpu{};                    ///< Of an asynchronous run, by the GPU's clock.
  std::uint64_t allocations = 0;  ///< In all of `results`, on the threads that called.
};

enum class Purpose : std::uint8_t {
  WarmUp,   ///< Results are checked.
  Measure,  ///< The same, and times are kept.
  Count,    ///< Somebody counts calls: nothing but the runs happens.
};

/// What a call of Runner::run() did.
struct Pass {
  std::uint64_t runs = 0;
  std::chrono::nanoseconds time{};  ///< Of all of them, without the checks of their results.
};

/// Runs a method in one mode.
///
/// Thread-safety: none.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs `count` times, or somewhat more where threads share them equally; stops after the run under way on Ctrl-C and
  /// when a result is wrong.
  [[nodiscard]] virtual Result<Pass> run(std::uint64_t count, Purpose purpose) = 0;
  /// Runs `count` times asynchronously, one after the other, and notes the calls' times; nothing in modes and for
  /// methods where there is no such time.
  [[nodiscard]] virtual Status enqueue(std::uint64_t count, Purpose purpose);
  /// Of the mode's method.
  [[nodiscard]] virtual std::vector<GraphInfo> graphs() const { return {}; }
  /// What is special about the mode's numbers, for people.
  [[nodiscard]] virtual std::string note() const { return {}; }

  [[nodiscard]] const Samples& samples() const noexcept { return samples_; }

 protected:
  Samples samples_;
};

/// What all modes run.
struct Workload {
  std::shared_ptr<const Program> program{};
  std::string method{};
  DeviceId device{};
  std::vector<Value> inputs{};                ///< Where the method wants them.
  const BackendRegistry* backends = nullptr;  ///< Null: the global ones.
  AllocationCounter allocations = nullptr;    ///< Null: nobody counts.
};

/// Loads a method of its own for the mode. Not for Drive::Raw and RawGraph: make_raw_runner().
///
/// Lifetime: workload and check outlive the runner.
/// Errors: as Method::load() and Stream::create().
[[nodiscard]] Result<std::unique_ptr<Runner>> make_runner(const Mode& mode, const Workload& workload,
                                                          ResultCheck& check);

}  // namespace tandem::cli::bench
