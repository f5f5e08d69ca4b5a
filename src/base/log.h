#pragma once

#include <tandem/log.h>

namespace tandem::base {

/// Hands `text` to the sink that the user installed.
void log(LogLevel level, std::string_view text) noexcept;

}  // namespace tandem::base
