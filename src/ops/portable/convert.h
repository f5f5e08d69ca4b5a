#pragma once

#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace tandem::ops::portable {

/// Converts `count` elements, each `from_step` and `to_step` bytes after the last.
using ConvertRow = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                            std::int64_t count);

/// Between any two of kReal, and from any dtype to itself; null for other pairs.
[[nodiscard]] ConvertRow row_converter(ScalarType from, ScalarType to) noexcept;

}  // namespace tandem::ops::portable
