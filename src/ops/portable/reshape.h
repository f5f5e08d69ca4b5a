#pragma once

#include "ops/portable/view.h"

namespace tandem::ops::portable {

/// The size that a view asks for, with its one -1 filled in.
/// Errors: InvalidArgument (a size below -1, two of -1, another number of elements, -1 beside a 0).
[[nodiscard]] Result<Shape> inferred_size(const Shape& asked, std::int64_t numel);

/// Whether the elements lie in row-major order without gaps; axes of size 1 may have any stride.
[[nodiscard]] bool is_dense(const View& view) noexcept;

/// Copies element for element in row-major order of the indices; the shapes may differ.
/// Preconditions: equal dtypes and numbers of elements.
void copy_in_order(const View& to, const View& from) noexcept;

}  // namespace tandem::ops::portable
