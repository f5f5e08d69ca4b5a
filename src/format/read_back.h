#pragma once

#include <tandem/result.h>

#include <utility>

namespace tandem::format {

/// What the reader says of a file that was just written. A writer thus refuses whatever its reader refuses, with the
/// same words, and writes nothing that cannot be read. The error loses its offset: there is no such file.
template <class T>
[[nodiscard]] Status check_read_back(const Result<T>& read) {
  if (read.ok()) return {};
  const Error& error = read.error();
  ErrorSite site = error.site();
  site.offset.reset();
  return Error{error.code(), error.message()}.with_expected(error.expected(), error.found()).with_site(site);
}

}  // namespace tandem::format
