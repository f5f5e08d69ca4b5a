#include "base/errno_error.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace tandem::base {

Error errno_error(std::string_view what, int number, const char* raised_file, int raised_line) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::NotFound
                         : number == ENOMEM ? ErrorCode::OutOfMemory
                                            : ErrorCode::AccessFailed;
  std::string text = std::generic_category().message(number);  // thread-safe, unlike strerror
  return Error{code, std::string{what}, raised_file, raised_line}.with_native(Origin::Errno, number, std::move(text));
}

}  // namespace tandem::base
