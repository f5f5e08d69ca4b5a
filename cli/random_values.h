#pragma once

#include <tandem/tensor.h>

#include <cstdint>
#include <span>

namespace tandem::cli {

/// A tensor of pseudo-random numbers that are the same on every machine for equal `seed`, `stream`, dtype and shape:
/// floats uniform in [-1, 1) on a grid that the type holds exactly, whole numbers in [0, 8) (safe as small indices),
/// truth values.
///
/// `stream` keeps the inputs of one method apart.
/// Errors: NotSupported, a dtype without such a rule; InvalidArgument, the shape; OutOfMemory.
/// Source: the generator is splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
[[nodiscard]] Result<Tensor> random_tensor(ScalarType dtype, std::span<const std::int64_t> sizes, std::uint64_t seed,
                                           std::uint64_t stream);

}  // namespace tandem::cli
