#pragma once

#include "backends/aoti/tensor_handle.h"

#include <array>
#include <cstdint>

namespace tandem::aoti {

using Strides = std::array<std::int64_t, kMaxRank>;

/// Strides of `source` seen with the sizes of `target`. False if it does not broadcast.
[[nodiscard]] bool broadcast(const AtenTensor& target, const AtenTensor& source, Strides& strides) noexcept;

/// Tells if copy_elements() makes elements of one dtype those of the other.
[[nodiscard]] bool can_convert(ScalarType to, ScalarType from) noexcept;

/// Writes the elements of `source` over those of `target`, both on the host.
///
/// Shapes: `source` broadcasts to the sizes of `target`, as in NumPy; dtypes may differ, real ones are converted.
/// Null on success, else why it can't be done.
[[nodiscard]] const char* copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept;

}  // namespace tandem::aoti
