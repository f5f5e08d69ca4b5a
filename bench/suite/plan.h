#pragma once

#include "bench/suite/kernel_call.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::suite {

/// Where a kernel of a delegate finds or leaves something.
struct Place {
  enum class Kind : std::uint32_t { None, Argument, Weight, Scratch };
  Kind kind = Kind::None;
  std::uint32_t at = 0;  ///< Argument: its index. Weight, Scratch: floats from the start.
};
[[nodiscard]] inline Place argument(std::uint32_t index) { return {Place::Kind::Argument, index}; }
[[nodiscard]] inline Place weight(std::uint32_t offset) { return {Place::Kind::Weight, offset}; }
[[nodiscard]] inline Place scratch(std::uint32_t offset) { return {Place::Kind::Scratch, offset}; }

/// A KernelCall without its addresses.
struct KernelSpec {
  KernelCall call{};  ///< `rows` 0: the first extent of argument 0.
  Place in[4] = {};
  Place out{};
};

/// What one delegate of the suite does: kernels, one after the other.
struct Plan {
  std::vector<KernelSpec> kernels{};
  std::vector<float> weights{};
  std::vector<AccessMode> accesses{};  ///< By argument: inputs, then one output.
  std::size_t scratch_floats = 0;
};

/// The payload of a delegate, and what is in one.
[[nodiscard]] std::vector<std::byte> write_plan(const Plan& plan);
/// Errors: InvalidProgram, the bytes are no plan.
[[nodiscard]] Result<Plan> read_plan(std::span<const std::byte> payload);

/// What the places of a plan mean in one call.
struct Bindings {
  std::span<void* const> arguments{};
  const float* weights = nullptr;
  float* scratch = nullptr;
  std::int64_t rows = 0;  ///< The first extent of argument 0.
};
[[nodiscard]] KernelCall resolve(const KernelSpec& spec, const Bindings& bindings) noexcept;

}  // namespace tandem::suite
