#pragma once

namespace tandem::cli {

/// From now on the first Ctrl-C (SIGINT) or SIGTERM only sets a flag, so that what was measured can still be printed;
/// the second one ends the process as usual.
void catch_interrupts() noexcept;

/// Whether one arrived. Thread-safety: any thread.
[[nodiscard]] bool interrupted() noexcept;

}  // namespace tandem::cli
