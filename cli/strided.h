#pragma once

#include <tandem/tensor.h>

#include <cstdint>
#include <span>

namespace tandem::cli {

/// `tensor` with its elements in row-major order without gaps: itself where they are already, else a copy.
/// Errors: OutOfMemory.
[[nodiscard]] Result<Tensor> contiguous(const Tensor& tensor);

/// The same elements laid out as `dim_order` says: the tensor itself for the order 0..n-1 of a contiguous one, else a
/// copy.
/// Errors: InvalidArgument, `dim_order` is no permutation of the axes; OutOfMemory.
[[nodiscard]] Result<Tensor> in_layout(const Tensor& tensor, std::span<const std::uint8_t> dim_order);

/// Row `index` of the first axis, sharing the bytes.
/// Precondition: rank at least 1, `index` within the first extent.
[[nodiscard]] Result<Tensor> row_of(const Tensor& tensor, std::int64_t index);

}  // namespace tandem::cli
