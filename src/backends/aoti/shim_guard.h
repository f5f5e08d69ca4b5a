#pragma once

#include "backends/aoti/call_state.h"

#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace tandem::aoti {

inline constexpr std::int32_t kShimOk = 0;

/// Runs the body of a shim that may allocate: no exception reaches the library.
template <class Body>
std::int32_t guarded(const char* shim, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return refuse(shim, "out of memory");
  } catch (const std::exception& error) {
    return refuse(shim, error.what());
  } catch (...) {
    return refuse(shim, "unknown exception");
  }
}

inline std::int32_t refuse_handle(const char* shim) noexcept { return refuse(shim, "not a live tensor handle"); }
/// A rank that no data changes.
inline std::int32_t refuse_rank(const char* shim, std::int64_t rank) noexcept {
  return guarded(shim, [&] { return refuse_always(shim, "rank is " + std::to_string(rank) + ", not within 0 to 16"); });
}
inline std::int32_t refuse_null(const char* shim) noexcept { return refuse(shim, "null pointer"); }

}  // namespace tandem::aoti
