#pragma once

#include <tandem/error.h>

namespace tandem::base {

/// An Error from an errno value: NotFound for ENOENT, OutOfMemory for ENOMEM, else AccessFailed.
[[nodiscard]] Error errno_error(std::string_view what, int number, const char* raised_file = __builtin_FILE(),
                                int raised_line = __builtin_LINE());

}  // namespace tandem::base
