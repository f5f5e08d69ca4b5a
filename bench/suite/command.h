#pragma once

#include "bench/suite/scenario.h"

#include <functional>
#include <memory>
#include <string>

namespace tandem::suite {

/// What a program of the suite brings along.
struct Command {
  std::string name{};
  std::string about{};
  /// The machine; `device` is the number that the user named, 0 without one. Errors: there is none.
  std::function<Result<std::unique_ptr<Machine>>(int device)> make_machine{};
  bool has_devices = false;  ///< There may be others than number 0.
  Counter allocations{};
  Counter system_calls{};
};

/// The program: reads the arguments, runs the scenarios, prints and writes the report.
///
/// Returns the exit status: 0, all results were right; 1, some was wrong or a scenario failed, with --check also a
/// count that is off; 2, usage or a file that cannot be written. Missed goals are reported, and change nothing.
[[nodiscard]] int run_command(const Command& command, int argc, char** argv);

}  // namespace tandem::suite
