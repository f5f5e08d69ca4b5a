#pragma once

#include <tandem/result.h>

#include <string>
#include <string_view>

namespace tandem::cli {

/// Replaces `file`.
/// Errors: NotFound (its folder), AccessFailed, with the file and the system's reason.
[[nodiscard]] Status write_file(const std::string& file, std::string_view bytes);

}  // namespace tandem::cli
