#pragma once

#include "runtime/schedule.h"

#include <cstdint>
#include <vector>

namespace tandem::runtime {

/// When the bytes of a value are in use.
struct Lifetime {
  /// The steps of one branch from the first to the last that touch the value or a view of it. The number of steps
  /// stands for the end of a run, where outputs are read.
  struct Span {
    std::uint32_t branch = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<Span> spans{};  ///< One without branches; none: nothing touches it.

  void touch(std::uint32_t step, std::uint32_t branch);  ///< Steps come in ascending order.
  /// In the order of the program. Only if something touches it.
  [[nodiscard]] std::uint32_t first() const noexcept;
  [[nodiscard]] std::uint32_t last() const noexcept;
};

/// By value. Jumps count for nothing: steps are taken in the order of the program.
[[nodiscard]] std::vector<Lifetime> find_lifetimes(const Schedule& schedule);

/// Whether all steps of `a` are over before any of `b` begins, whichever way branches run.
[[nodiscard]] bool before(const BranchPlan& branches, const Lifetime& a, const Lifetime& b) noexcept;

}  // namespace tandem::runtime
