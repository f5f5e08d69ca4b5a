#pragma once

#include <tandem/result.h>

namespace tandem::base {

/// From the first call on, notices when this process is a forked child: threads, streams and device contexts did not
/// come along.
void watch_forks() noexcept;
/// Whether this process was forked after watch_forks().
[[nodiscard]] bool is_forked_child() noexcept;
/// Errors: InvalidState in a forked child.
[[nodiscard]] Status refuse_forked_child();

}  // namespace tandem::base
