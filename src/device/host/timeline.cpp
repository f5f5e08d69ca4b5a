#include "device/host/timeline.h"

namespace tandem::device {

thread_local int WorkScope::depth = 0;

Status WorkScope::may_wait() {
  if (depth == 0) return {};
  return Error{ErrorCode::InvalidState, "work on a stream waits for a stream or an event"}.with_device("host");
}

}  // namespace tandem::device
