#pragma once

#include "device/device.h"
#include "runtime/schedule.h"
#include "runtime/state.h"

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::runtime {

/// One call of a delegate, bound to the shapes it last saw.
struct BoundDelegate {
  DelegateContext* context = nullptr;
  std::span<Argument* const> arguments{};
  std::vector<OutputResult> results{};
  std::vector<std::int64_t> bound_sizes{};  ///< Of all tensor inputs, one after the other.
  bool dynamic = false;                     ///< Some input's size may change from run to run.
  bool shared_context = false;              ///< Another call uses the same context, which knows one set of shapes.
  bool bound = false;
  std::size_t scratch_bytes = 0;

  [[nodiscard]] std::span<Argument* const> inputs() const noexcept {
    return arguments.first(arguments.size() - results.size());
  }
};

/// What one running execution needs for itself: the values, their memory, the delegates' contexts.
///
/// Thread-safety: none; one execution at a time.
class Instance {
 public:
  /// Errors: OutOfMemory; what Delegate::new_context() says.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(const Schedule& schedule, device::Device& device,
                                                                const MethodStates& states);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Puts every value that steps move or compute back to where it starts.
  void reset_values() noexcept;

  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] Argument& value(std::uint32_t index) noexcept { return values_[index]; }
  [[nodiscard]] std::span<Argument* const> args_of(const Step& step) const noexcept {
    return {args_.data() + step.first_arg, step.arg_count};
  }
  /// By step index; null for other steps.
  [[nodiscard]] BoundDelegate* call(std::size_t step) noexcept {
    return call_of_step_[step] == kNone ? nullptr : &calls_[call_of_step_[step]];
  }
  /// Memory for a copy of input `index`, made when it is first needed. Errors: OutOfMemory.
  [[nodiscard]] Result<std::byte*> input_copy(std::size_t index);
  /// The scratch that all delegates of this instance share, at least `bytes` long. Errors: OutOfMemory.
  [[nodiscard]] Result<std::span<std::byte>> scratch(std::size_t bytes);

 private:
  Instance(const Schedule& schedule, device::Device& device) noexcept : schedule_{schedule}, device_{device} {}
  void copy_values();
  Status allocate(const MethodStates& states);
  Status bind_delegates();

  const Schedule& schedule_;
  device::Device& device_;
  std::vector<device::Buffer> buffers_{};  ///< By Schedule::buffers; empty for those that others own.
  std::vector<device::Buffer> input_copies_{};
  std::vector<std::shared_ptr<device::Buffer>> states_{};
  std::vector<Argument> values_{};
  std::vector<Argument> initial_{};  ///< Of the values to reset.
  std::vector<std::uint32_t> reset_{};
  std::vector<std::int64_t> dims_{};  ///< Sizes and strides of all tensors.
  std::vector<std::int64_t> initial_dims_{};
  std::vector<Argument*> list_items_{};
  std::vector<Argument*> args_{};  ///< Schedule::args as addresses.
  std::vector<std::unique_ptr<DelegateContext>> contexts_{};
  std::vector<BoundDelegate> calls_{};
  std::vector<std::uint32_t> call_of_step_{};
  device::Buffer scratch_{};
};

}  // namespace tandem::runtime
