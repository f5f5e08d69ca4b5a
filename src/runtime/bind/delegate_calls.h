#pragma once

#include "runtime/schedule.h"
#include "runtime/state_memory.h"

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::runtime {

/// One call of a delegate, bound to the shapes it last saw.
struct BoundDelegate {
  DelegateContext* context = nullptr;
  std::vector<OutputResult> results{};
  std::vector<std::int64_t> bound_sizes{};  ///< Of all tensor inputs, one after the other.
  bool dynamic = false;                     ///< Some input's size may change from run to run.
  bool shared_context = false;              ///< Another call uses the same context, which knows one set of shapes.
  bool bound = false;
  std::size_t scratch_bytes = 0;

  [[nodiscard]] std::span<Argument* const> inputs_of(std::span<Argument* const> arguments) const noexcept {
    return arguments.first(arguments.size() - results.size());
  }
};

/// The contexts of some of a schedule's delegates, and what is bound of their calls.
///
/// Thread-safety: none; belongs to one execution at a time.
class DelegateCalls {
 public:
  /// Contexts of the delegates that keep state, or of the others. `memory` has that of the delegates' buffers, by
  /// delegate.
  /// Errors: what Delegate::new_context() and new_context_on() say.
  [[nodiscard]] static Result<DelegateCalls> create(
      const Schedule& schedule, bool stateful, std::span<const std::vector<std::shared_ptr<StateMemory>>> memory = {});

  /// By step index; null for other steps.
  [[nodiscard]] BoundDelegate* find(std::size_t step) noexcept {
    return step >= call_of_step_.size() || call_of_step_[step] == kNone ? nullptr : &calls_[call_of_step_[step]];
  }

 private:
  std::vector<std::unique_ptr<DelegateContext>> contexts_{};  ///< By delegate; null for those of the other kind.
  std::vector<BoundDelegate> calls_{};
  std::vector<std::uint32_t> call_of_step_{};  ///< Empty if there are none.
};

}  // namespace tandem::runtime
