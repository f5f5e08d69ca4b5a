#include "bench/gpu/driver_calls.h"

#include "cli/bench/gpu_tools.h"

#include <fmt/format.h>

namespace tandem::bench {

std::string driver_calls_text(int times, const std::function<void()>& call) {
  const auto calls = cli::bench::count_driver_calls([times, &call] {
    for (int i = 0; i < times; ++i) call();
  });
  if (!calls || calls->empty()) return "not counted, no CUPTI here";
  std::string text;
  for (const auto& [name, count] : *calls) {
    text += fmt::format("{}{} {:.2g}", text.empty() ? "" : ", ", name, static_cast<double>(count) / times);
  }
  return text;
}

}  // namespace tandem::bench
