#pragma once

#include <functional>
#include <string>

namespace tandem::bench {

/// Calls of the CUDA driver by name in one of `times` calls, "cuLaunchKernel 25, cuMemcpyAsync 2", whoever makes them:
/// Tandem, CUDA's runtime, a delegate's library. Says so where CUPTI, which counts them, is not installed. Slows the
/// calls down. One at a time.
[[nodiscard]] std::string driver_calls_text(int times, const std::function<void()>& call);

}  // namespace tandem::bench
