#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace tandem::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set inside a signal handler");

extern "C" void set_flag(int /*signal*/) { flag.store(true, std::memory_order_relaxed); }

}  // namespace

void catch_interrupts() noexcept {
  struct sigaction action {};
  action.sa_handler = set_flag;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return flag.load(std::memory_order_relaxed); }

}  // namespace tandem::cli
