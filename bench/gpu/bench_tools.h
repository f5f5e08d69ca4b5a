#pragma once

#include <tandem/result.h>

#include <cuda_runtime_api.h>
#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

/// What the benchmarks on a GPU share.
namespace tandem::bench {

using Clock = std::chrono::steady_clock;

/// Prints why and ends the program.
[[noreturn]] inline void stop(const std::string& why) {
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name, why);
  std::exit(1);
}
template <class T>
T must(Result<T> result) {
  if (!result.ok()) stop(result.error().to_string());
  return *std::move(result);
}
inline void must(const Status& status) {
  if (!status.ok()) stop(status.error().to_string());
}
inline void must(cudaError_t code) {
  if (code != cudaSuccess) stop(cudaGetErrorString(code));
}

inline double us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// Units: microseconds.
struct Times {
  std::vector<double> all{};
  void add(Clock::duration time) { all.push_back(us(time)); }
  [[nodiscard]] double at(double percent) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0
                       : all[std::min(all.size() - 1,
                                      static_cast<std::size_t>(percent / 100 * static_cast<double>(all.size())))];
  }
  [[nodiscard]] std::string text() {
    return fmt::format("p50 {:8.1f}  p90 {:8.1f}  p99 {:8.1f} us", at(50), at(90), at(99));
  }
};

}  // namespace tandem::bench
