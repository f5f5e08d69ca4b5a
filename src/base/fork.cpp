#include "base/fork.h"

#include <pthread.h>

namespace tandem::base {
namespace {

constinit bool forked = false;  // written while the child has one thread

}  // namespace

void watch_forks() noexcept {
  [[maybe_unused]] static const int kRegistered = ::pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

bool is_forked_child() noexcept { return forked; }

Status refuse_forked_child() {
  if (!forked) return {};
  return Error{ErrorCode::InvalidState, "this process was forked after Tandem was used; use it in the parent, or exec"};
}

}  // namespace tandem::base
