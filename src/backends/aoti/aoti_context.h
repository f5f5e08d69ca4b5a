#pragma once

#include "backends/aoti/run_memory.h"
#include "backends/aoti/weights.h"

#include <tandem/backend.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::aoti {

/// One instance's container and memory plan.
///
/// On the host the first run of each set of shapes records its allocations. On other devices the first bind() runs the
/// delegate once, on zeros and a stream of the device's own, and waits for it: that loads the kernels, records, and
/// shows a library that does not fit the device. That run has buffers of its own, gone after it. Runs then neither
/// allocate nor wait; the first one at other shapes than those allocates, in the stream's order.
class AotiContext final : public DelegateContext {
 public:
  /// `weights` is kept alive.
  AotiContext(ReadyContainer ready, std::shared_ptr<const Weights> weights);
  ~AotiContext() override;

  /// Puts the model's buffers into `memory`, one entry for each of Weights::buffers().
  /// Lifetime: the memory outlives the context. Errors: as Weights::bind().
  [[nodiscard]] Status use_buffers(std::span<std::byte* const> memory);

  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> arguments) override;
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override;

  /// False once a run's allocations differed from the recorded ones of its shapes.
  [[nodiscard]] bool repeats() const noexcept { return memory_.repeats(); }

 private:
  [[nodiscard]] std::size_t input_count() const noexcept { return inputs_.size(); }
  [[nodiscard]] Status warm_up(std::span<const Argument* const> arguments);
  [[nodiscard]] Status record(EnqueueArgs& args);
  [[nodiscard]] Status run_once(std::span<Argument* const> arguments, std::span<std::byte> scratch);
  [[nodiscard]] Status check_counts(std::size_t arguments, std::size_t outputs) const;
  void select(std::span<const Argument* const> arguments);
  [[nodiscard]] bool numbers_changed(std::span<Argument* const> arguments) const noexcept;
  [[nodiscard]] Status make_inputs(std::span<Argument* const> arguments);
  [[nodiscard]] Status make_input(std::size_t index, const Argument& argument);
  void resolve_targets(std::span<Argument* const> arguments);
  [[nodiscard]] bool may_write(std::size_t output, std::span<Argument* const> arguments) const;
  [[nodiscard]] Status check_kind(std::size_t output, const Argument& argument) const;
  [[nodiscard]] Status report_output(std::size_t output, const Argument& argument, OutputResult& result,
                                     bool is_captured) const;
  [[nodiscard]] Result<bool> land(const AtenTensor& handle, const TensorArg& tensor, bool is_captured) const;
  void drop_inputs() noexcept;
  void drop_outputs() noexcept;

  std::shared_ptr<const Weights> weights_;
  std::shared_ptr<AotiDevice> device_;
  RunMemory memory_;  ///< Outlives the container: handles in it refer here.
  ReadyContainer ready_;
  std::vector<std::byte*> buffers_;  ///< Of use_buffers().
  std::vector<AtenTensor*> inputs_;
  std::vector<AtenTensor*> outputs_;  ///< Of the last run; what OutputResults point into.
  std::vector<RunMemory::Output> results_;
  std::vector<std::int64_t> scalars_;   ///< Where number inputs lie, by input.
  std::vector<std::int64_t> shapes_;    ///< Of the selected record: sizes and numbers of the inputs.
  std::vector<const void*> addresses_;  ///< For which targets_ were resolved, by argument.
  std::vector<std::byte*> targets_;     ///< Where outputs may be written, by output.
  bool targets_known_ = false;
  bool warm_;
};

}  // namespace tandem::aoti
