#pragma once

#include <tandem/result.h>

#include <exception>
#include <new>
#include <utility>

namespace tandem::base {

/// Calls `function`, which returns a Status and runs code of others, and turns an exception into an Error.
/// Errors: OutOfMemory (bad_alloc); `code` (anything else), with the exception's text.
template <class Function>
[[nodiscard]] Status guarded(ErrorCode code, Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::OutOfMemory, "host memory is exhausted"};
  } catch (const std::exception& error) {
    return Error{code, std::string{"an exception was thrown: "} + error.what()};
  } catch (...) {
    return Error{code, "an exception of an unknown type was thrown"};
  }
}

}  // namespace tandem::base
