#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_POISONS 1
#endif
#endif
#ifdef TANDEM_POISONS
#include <sanitizer/asan_interface.h>
#endif

/// Bytes that hold nothing, for the address sanitizer. Without it, nothing happens.
namespace tandem::base {

#ifdef TANDEM_POISONS
inline constexpr bool kPoisons = true;
#else
inline constexpr bool kPoisons = false;
#endif

/// From now on, reading or writing the bytes ends the program. Freed memory needs no unpoison().
inline void poison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TANDEM_POISONS
  ASAN_POISON_MEMORY_REGION(data, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TANDEM_POISONS
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#endif
}

}  // namespace tandem::base

#undef TANDEM_POISONS
