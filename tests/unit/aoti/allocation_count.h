#pragma once

#include <cstdint>

namespace tandem::aoti {

/// Heap allocations of this test program's own code, Tandem's included, so far. Libraries that the backend loads count
/// only where they use operator new. See the linker options of unit_aoti.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

}  // namespace tandem::aoti
