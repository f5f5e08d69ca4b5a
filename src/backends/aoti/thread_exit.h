#pragma once

#include <cstdint>

namespace tandem::aoti {

/// What loaded libraries call for `__cxa_thread_atexit`.
///
/// glibc keeps a library mapped while a thread lives that has a thread-local destructor of it pending, and
/// AOTInductor's error text is one. So Tandem keeps the destructors itself: they run when their thread ends, or when
/// their library is closed, whichever comes first.
///
/// Thread-safety: any thread.
/// Source: Itanium C++ ABI, `__cxa_thread_atexit`.
int register_thread_exit(void (*destructor)(void*), void* object, void* dso) noexcept;

/// Runs and forgets the destructors of all threads whose code lies in [first, end). No thread may be inside that
/// library.
void run_thread_exits(std::uintptr_t first, std::uintptr_t end) noexcept;

/// Forgets them without running: their code is gone.
void drop_thread_exits(std::uintptr_t first, std::uintptr_t end) noexcept;

}  // namespace tandem::aoti
