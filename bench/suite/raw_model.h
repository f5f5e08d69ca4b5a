#pragma once

#include "bench/suite/machine.h"
#include "bench/suite/measure.h"
#include "bench/suite/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::suite {

/// The kernels of a model on buffers of their own, without Tandem: what raw ways launch, and on the host what the
/// results should be.
///
/// Lifetime: the machine outlives it; what it gives out lives as long as it does.
class RawModel {
 public:
  /// States begin as zeros. Errors: OutOfMemory.
  [[nodiscard]] static Result<RawModel> create(Machine& machine, const Model& model);

  /// All kernels in order. `rows`: the first extent of dynamic values; 0: the upper bound. The nodes run after those
  /// whose values they use, and so side by side where the model allows it.
  [[nodiscard]] std::vector<KernelCall> calls(std::int64_t rows = 0) const;
  [[nodiscard]] std::vector<RawNode> nodes(std::int64_t rows = 0) const;
  [[nodiscard]] static std::vector<RawNode> chain(std::span<const KernelCall> calls);

  [[nodiscard]] void* memory(std::size_t value) const { return memory_[value].get(); }
  /// Blocks until the bytes are there.
  [[nodiscard]] Status set(std::size_t value, std::span<const std::byte> bytes);
  [[nodiscard]] Result<Bytes> get(std::size_t value, std::size_t bytes) const;
  /// Fills the output with what is no result. Blocks.
  [[nodiscard]] Status spoil_output();

 private:
  RawModel(Machine& machine, const Model& model) : machine_{&machine}, model_{model} {}
  [[nodiscard]] std::vector<KernelCall> calls_of(std::size_t call, std::int64_t rows) const;
  Machine* machine_;
  Model model_;
  std::vector<std::shared_ptr<void>> memory_{};   ///< By value.
  std::vector<std::shared_ptr<void>> weights_{};  ///< By call.
  std::vector<std::shared_ptr<void>> scratch_{};
};

/// Bytes that no scenario computes.
[[nodiscard]] Bytes spoiled(std::size_t bytes);

}  // namespace tandem::suite
