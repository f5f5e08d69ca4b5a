#pragma once

#include "runtime/bind/instance.h"

#include <tandem/result.h>
#include <tandem/tensor.h>
#include <tandem/value.h>

#include <cstddef>
#include <span>
#include <vector>

namespace tandem::runtime {

/// The memory of a method's outputs: recycled tensors, or the caller's.
///
/// Thread-safety: none; it belongs to the executions of one instance.
class Outputs {
 public:
  explicit Outputs(const Schedule& schedule);

  /// Whether the caller's tensors can take the outputs; undefined ones mean "Tandem's choice".
  /// Errors: InvalidArgument, InvalidType, with the output's index, expected and found.
  [[nodiscard]] static Status check_bound(const Schedule& schedule, std::span<const Tensor> bound);

  /// Gives every output that steps write directly its memory for this run.
  /// Errors: OutOfMemory.
  [[nodiscard]] Status begin(Instance& instance, std::span<const Tensor> bound);
  /// Whether a range meets memory that this run writes its outputs to.
  [[nodiscard]] bool writes_to(const void* data, std::size_t bytes) const noexcept;
  /// After the run: hands the outputs over, copying those that ended up elsewhere.
  /// Errors: OutOfMemory; InvalidArgument, a bound tensor has other sizes than the run produced.
  [[nodiscard]] Status collect(Instance& instance, std::span<const Tensor> bound, std::span<Value> values);
  /// Drops this run's memory after a failure.
  void abandon() noexcept;

 private:
  Result<Tensor> recycled(std::size_t output);
  Result<Value> take(Instance& instance, std::size_t output, const Tensor& bound);
  Result<Value> take_tensor(const TensorArg& value, std::size_t output, const Tensor& bound);

  const Schedule& schedule_;
  std::vector<std::size_t> first_;         ///< Per output: the first output that names the same value.
  std::vector<std::vector<Tensor>> pool_;  ///< Per output: tensors that came back when only the pool holds them.
  std::vector<Tensor> current_;            ///< Per output: where this run writes it; undefined if not directly.
};

}  // namespace tandem::runtime
