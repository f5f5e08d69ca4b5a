#pragma once

#include "runtime/schedule.h"

#include <cstddef>
#include <cstdint>

namespace tandem::runtime {

/// What one execution has to do, as far as its schedule tells: every step once, so the rounds of a loop and the steps
/// that a jump passes over are not counted.
struct WorkCount {
  struct Copies {
    std::size_t count = 0;
    std::uint64_t bytes = 0;  ///< Upper bound, where sizes depend on the inputs.
  };
  std::size_t steps = 0;      ///< Without Free, which does nothing.
  std::size_t delegates = 0;  ///< Calls of them.
  std::size_t operators = 0;
  Copies to_device{};
  Copies to_host{};
  Copies on_device{};
  std::size_t host_waits = 0;  ///< For every stream, before steps of the host and at the end of several streams.
};

/// Copies are steps: what moves a caller's input or bound output to where steps can use it is not among them.
[[nodiscard]] WorkCount count_work(const Schedule& schedule) noexcept;

}  // namespace tandem::runtime
