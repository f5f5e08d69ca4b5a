#pragma once

#include "runtime/bind/instance.h"

#include <tandem/result.h>
#include <tandem/tensor.h>
#include <tandem/value.h>

#include <cstddef>
#include <span>
#include <vector>

namespace tandem::runtime {

/// Memory for a method's outputs: what callers dropped is used again.
///
/// Lifetime: the schedule and the device outlive it.
/// Thread-safety: none; it belongs to whoever enqueues on one instance.
class OutputPool {
 public:
  OutputPool(const Schedule& schedule, device::Device& device)
      : schedule_{schedule}, device_{device}, pool_(schedule.outputs.size()) {}

  /// The output's slot: the same memory in every run. Errors: OutOfMemory.
  [[nodiscard]] Result<Tensor> slot(std::size_t output);
  /// A tensor of the output's upper bound. Earlier work on other streams may still use it (Tensor::Impl::uses).
  /// Errors: OutOfMemory.
  [[nodiscard]] Result<Tensor> take(std::size_t output);

 private:
  Result<Tensor> make(const ValuePlan& value);

  const Schedule& schedule_;
  device::Device& device_;
  std::vector<Tensor> slots_{};            ///< Per output; empty before the first is asked for.
  std::vector<std::vector<Tensor>> pool_;  ///< Per output: tensors that came back when only the pool holds them.
};

/// Where one run puts its outputs: recycled tensors, or the caller's.
///
/// Lifetime: the schedule outlives it.
/// Thread-safety: none; it belongs to one execution.
class Outputs {
 public:
  explicit Outputs(const Schedule& schedule);

  /// Whether the caller's tensors can take the outputs; undefined ones mean "Tandem's choice".
  /// Errors: InvalidArgument, InvalidType, with the output's index, expected and found.
  [[nodiscard]] static Status check_bound(const Schedule& schedule, std::span<const Tensor> bound);

  /// When the run is enqueued: gives every tensor output its memory. With `at_slots`, steps write outputs on the device
  /// to their slots, and collect() copies them where they belong.
  /// Errors: OutOfMemory.
  [[nodiscard]] Status begin(OutputPool& pool, std::span<const Tensor> bound, bool at_slots = false);
  /// All memory that the run will write outputs to; undefined entries are to be skipped.
  [[nodiscard]] std::span<const Tensor> memory() const noexcept { return memory_; }

  /// Of it, where they end up: one entry per output.
  [[nodiscard]] std::span<const Tensor> destinations() const noexcept { return memory().first(targets_.size()); }

  /// The tensors as callers will get them; entries of other outputs are left alone.
  void announce(std::span<Value> values) const;

  /// When the run starts: steps write to the targets where they can.
  void begin(Instance& instance) noexcept;
  /// Whether a range meets memory that steps of this run write outputs to.
  [[nodiscard]] bool writes_to(const void* data, std::size_t bytes) const noexcept;
  /// Whether collect() will copy bytes on the host, of which the device must be done then.
  [[nodiscard]] bool copies_on_host() const noexcept;
  /// When the run is over, or on a device enqueued: hands the outputs over, copying those that ended up elsewhere; on
  /// the device in the order of `stream`, which is null on the host device.
  /// Errors: InvalidArgument, a bound tensor has other sizes than the run produced; NotSupported, a view on the device
  ///   that is not dense.
  [[nodiscard]] Status collect(Instance& instance, std::span<Value> values, device::Stream* stream);
  /// Lets go of the memory.
  void abandon() noexcept;

 private:
  struct Target {
    std::size_t first = 0;  ///< The first output that names the same value.
    bool is_tensor = false;
    bool is_planned = false;  ///< Steps write it to memory of the run's choice; else a step decides where it is.
    bool is_bound = false;    ///< Of this run: it goes to the caller's tensor.
    bool is_staged = false;   ///< Of this run: written to memory of the pool, because the bound tensor can't take it.
    bool is_at_slot = false;  ///< Of this run: written to the slot.
  };
  [[nodiscard]] bool may_be_at_slot(std::size_t output) const;
  Result<Value> take_from_slot(const TensorArg& value, std::size_t output, device::Stream& stream);
  Tensor& staging(std::size_t output) noexcept { return memory_[targets_.size() + output]; }
  [[nodiscard]] const Tensor& written(std::size_t output) const noexcept {
    const bool is_elsewhere = targets_[output].is_staged || targets_[output].is_at_slot;
    return memory_[output + (is_elsewhere ? targets_.size() : 0)];
  }
  Result<Value> take(Instance& instance, std::size_t output, device::Stream* stream);
  Result<Value> take_tensor(const TensorArg& value, std::size_t output, device::Stream* stream);

  const Schedule& schedule_;
  std::vector<Tensor> memory_;  ///< Where outputs end up, undefined for numbers and repeated values; then the staging.
  std::vector<Target> targets_;
};

}  // namespace tandem::runtime
