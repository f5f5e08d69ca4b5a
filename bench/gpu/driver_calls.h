#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tandem::bench {

/// Calls of the CUDA driver by name while `work` runs, whoever makes them: Tandem, CUDA's runtime, a delegate's
/// library. Empty where CUPTI, which counts them, is not installed. Slows the work down. One at a time.
[[nodiscard]] std::map<std::string, std::uint64_t> count_driver_calls(const std::function<void()>& work);

}  // namespace tandem::bench
