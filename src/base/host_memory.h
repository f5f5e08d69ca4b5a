#pragma once

#include <tandem/result.h>

#include <cstddef>

namespace tandem::base {

/// Cache-line alignment of everything that Tandem allocates on the host.
inline constexpr std::size_t kHostAlignment = 64;

/// Uninitialised memory, never null, also for 0 bytes.
/// Errors: OutOfMemory, naming the bytes.
[[nodiscard]] Result<void*> allocate_host(std::size_t bytes);
/// The same, zeroed.
[[nodiscard]] Result<void*> allocate_host_zeroed(std::size_t bytes);
/// Accepts null.
void free_host(void* data) noexcept;

}  // namespace tandem::base
