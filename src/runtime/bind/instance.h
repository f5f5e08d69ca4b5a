#pragma once

#include "device/device.h"
#include "runtime/bind/delegate_calls.h"
#include "runtime/schedule.h"
#include "runtime/state.h"

#include <tandem/argument.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::runtime {

/// What one running execution needs for itself: the values, their memory, the delegates' contexts.
///
/// Lifetime: the schedule outlives it.
/// Thread-safety: none; one execution at a time. Steps on several streams use different parts of it, as the schedule
///   says.
class Instance {
 public:
  /// Errors: OutOfMemory; what Delegate::new_context() says.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(const Schedule& schedule, device::Device& device);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Before each run: puts every value that steps move or compute back to where it starts, and mutable values into
  /// `state`, which is null if the method has none.
  void begin(State* state) noexcept;

  /// When states, inputs and outputs of the run have their addresses: gives them to the views that no step makes.
  void place_views() noexcept {
    for (const std::uint32_t view : views_) values_[view].tensor.data = values_[schedule_.source_of(view)].tensor.data;
  }

  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] Argument& value(std::uint32_t index) noexcept { return values_[index]; }
  [[nodiscard]] std::span<Argument* const> args_of(const Step& step) const noexcept {
    return {args_.data() + step.first_arg, step.arg_count};
  }
  /// The call of a delegate step, of this instance or of the state of the run.
  [[nodiscard]] BoundDelegate& call(std::size_t step) noexcept {
    BoundDelegate* const own = call_of_step_[step];
    return own != nullptr ? *own : *state_->calls().find(step);
  }
  /// Memory for a copy of input `index`, made when it is first needed. Errors: OutOfMemory.
  [[nodiscard]] Result<std::byte*> input_copy(std::size_t index);
  /// Where scratch() of the device is now, by slot.
  [[nodiscard]] std::span<const device::Buffer> device_scratch() const noexcept {
    return std::span{scratch_}.first(scratch_.size() - 1);
  }
  /// State of the run; null without one.
  [[nodiscard]] State* state() const noexcept { return state_; }
  /// Of the state of the run; 0 without one.
  [[nodiscard]] std::uint64_t state_generation() const noexcept { return state_ == nullptr ? 0 : state_->generation(); }
  /// Whether no earlier run still reads the instance's memory. Before begin().
  void set_idle(bool is_idle) noexcept { is_idle_ = is_idle; }
  /// Host memory that the device reaches, for the bytes of input `index` on their way there; null if an earlier run may
  /// still read it, or the input is large: a stream's own staging is better then. Made when it is first needed.
  /// Errors: OutOfMemory.
  [[nodiscard]] Result<std::byte*> input_staging(std::size_t index, std::size_t bytes);
  /// The scratch of a delegate's step, at least `bytes` long: shared with all that its stream and its branch order
  /// after it. Steps that the host runs beside a device share one in the host's memory. Errors: OutOfMemory.
  [[nodiscard]] Result<std::span<std::byte>> scratch(std::size_t step, std::size_t bytes);

 private:
  Instance(const Schedule& schedule, device::Device& device)
      : schedule_{schedule}, device_{device}, scratch_(schedule.scratch_slots() + 1) {}
  void copy_values();
  Status allocate();
  [[nodiscard]] bool on_device(DeviceId device) const noexcept;
  /// Of the device, or of the host where the device reaches it.
  Result<device::Buffer> allocate(bool on_device, std::size_t bytes);

  const Schedule& schedule_;
  device::Device& device_;
  State* state_ = nullptr;
  std::vector<device::Buffer> buffers_{};  ///< By Schedule::buffers; empty for those that others own.
  std::vector<device::Buffer> input_copies_{};
  std::vector<device::Buffer> input_stagings_{};
  bool is_idle_ = false;
  std::vector<Argument> values_{};
  std::vector<Argument> initial_{};  ///< Of the values to reset.
  std::vector<std::uint32_t> reset_{};
  std::vector<std::uint32_t> views_{};  ///< That no step makes.
  std::vector<std::int64_t> dims_{};    ///< Sizes and strides of all tensors.
  std::vector<std::int64_t> initial_dims_{};
  std::vector<Argument*> list_items_{};
  std::vector<Argument*> args_{};  ///< Schedule::args as addresses.
  DelegateCalls calls_{};
  std::vector<BoundDelegate*> call_of_step_{};  ///< Null: no delegate, or one whose context belongs to the state.
  std::vector<device::Buffer> scratch_;         ///< By slot; the last one for the host.
};

}  // namespace tandem::runtime
