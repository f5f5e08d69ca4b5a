#pragma once

#include <tandem/result.h>

#include <span>
#include <string>

namespace tandem::cli {

/// The method that a command means: `wanted`, or "forward", or the only one there is.
/// Errors: MethodNotFound, naming those that there are; InvalidArgument, `wanted` is empty and none of several is
/// called
///   forward.
[[nodiscard]] Result<std::string> choose_method(std::span<const std::string> names, const std::string& wanted,
                                                const std::string& file);

}  // namespace tandem::cli
