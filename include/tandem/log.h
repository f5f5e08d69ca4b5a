#pragma once

#include <tandem/export.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace tandem {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

/// Receives every message of the library, possibly from several threads at once. It must not throw.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Replaces the sink; an empty one drops all messages, which is the default: the library never prints.
/// Thread-safety: may be called at any time; messages under way may still reach the old sink.
TANDEM_EXPORT void set_log_sink(LogSink sink);

}  // namespace tandem
