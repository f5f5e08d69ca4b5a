#pragma once

namespace tandem::cli {

/// What the process answers; the numbers are part of the command's interface.
enum class ExitCode : int {
  Good = 0,
  Mismatch = 1,       ///< Everything ran, and a result differs from what was expected; a check failed.
  Failed = 2,         ///< Usage, a file, loading or running.
  Interrupted = 130,  ///< Ctrl-C, as shells report it.
};

}  // namespace tandem::cli
