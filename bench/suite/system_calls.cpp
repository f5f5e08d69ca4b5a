#include "bench/suite/counters.h"

#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

// Since Linux 5.11; older headers lack it.
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

namespace tandem::suite {
namespace {

// The kernel reads it at every system call of the thread: 1 turns the call into a signal.
thread_local volatile char selector = 0;
thread_local volatile std::size_t found = 0;

/// Lets the call through, and all after it: one is enough to know.
void on_system_call(int /*signal*/, siginfo_t* /*info*/, void* context) {
  selector = 0;
  found = 1;
  constexpr long long kInstructionBytes = 2;  // of `syscall`, which is to run again
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] -= kInstructionBytes;
}

}  // namespace

Result<std::optional<std::size_t>> count_system_calls(const std::function<Status()>& work) {
  struct sigaction action {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO;
  struct sigaction before {};
  const bool can_count = sigaction(SIGSYS, &action, &before) == 0 &&
                         prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0;
  found = 0;
  selector = can_count ? 1 : 0;
  Status done = work();
  selector = 0;
  if (can_count) prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  sigaction(SIGSYS, &before, nullptr);
  TANDEM_CHECK_OK(std::move(done));
  return can_count ? std::optional<std::size_t>{found} : std::nullopt;
}

}  // namespace tandem::suite
