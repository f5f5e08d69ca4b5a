#include "cli/progress.h"

#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>
#include <utility>

namespace tandem::cli {

using namespace std::chrono_literals;

Progress::Progress(std::string noun, std::uint64_t total)
    : noun_{std::move(noun)}, total_{total}, terminal_{::isatty(STDERR_FILENO) == 1}, next_{Clock::now() + 1s} {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::uint64_t done) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + 100ms;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[Ktandem: {}/{} {}", done, total_, noun_);
  std::fflush(stderr);
}

}  // namespace tandem::cli
