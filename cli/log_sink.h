#pragma once

namespace tandem::cli {

/// Sends the library's warnings and errors to stderr, as "tandem: warning: ...". stdout stays for results.
void log_to_stderr();

}  // namespace tandem::cli
