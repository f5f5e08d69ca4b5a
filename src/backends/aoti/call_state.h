#pragma once

#include "backends/aoti/aoti_device.h"
#include "backends/aoti/tensor_handle.h"

#include <tandem/error.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::aoti {

class RunMemory;

/// What the shims know about the call that a library is in. One per container.
struct CallState {
  AotiDevice* device = host_device().get();
  HandlePool handles{};
  RunMemory* run = nullptr;  ///< Set while a run is under way.
  std::string refusal{};     ///< Why a shim last refused.
  ErrorCode refusal_code = ErrorCode::BackendFailed;
  std::string text{};                         ///< Text that the library printed to stderr during the call.
  std::vector<AtenTensor*>* blobs = nullptr;  ///< Set while weights are loaded: collects the constants' handles.
};

namespace detail {
// One slot at a fixed place: shims read it several times a run, and a dynamic lookup would cost more than they do.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CallState* current_call;
}  // namespace detail

/// Null outside of calls into a container.
[[nodiscard]] inline CallState* current_call() noexcept { return detail::current_call; }

/// Makes `state` the calling thread's, until the scope ends. Nests.
class CallScope {
 public:
  explicit CallScope(CallState& state) noexcept : outer_{std::exchange(detail::current_call, &state)} {}
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() { detail::current_call = outer_; }

 private:
  CallState* outer_;
};

/// What the current call runs on; the host outside of calls.
[[nodiscard]] inline AotiDevice& current_device() noexcept {
  CallState* call = current_call();
  return call != nullptr ? *call->device : *host_device();
}

/// A new undefined handle for the current call. Throws bad_alloc.
[[nodiscard]] inline AtenTensor& take_handle() {
  CallState* call = current_call();
  return call != nullptr ? call->handles.take() : HandlePool::shared().take();
}

/// Records why a shim refuses, and returns the status that tells the library. Allocates; for failures only. Other data
/// or sizes may be accepted: a delegate that fails so at load is loaded all the same.
std::int32_t refuse(std::string_view shim, std::string_view why) noexcept;
/// The same where neither data nor sizes matter (a dtype, a rank, a layout, a device): IncompatibleDelegate, with which
/// loading fails where the delegate runs once at load.
std::int32_t refuse_always(std::string_view shim, std::string_view why) noexcept;
/// The same for functions of other families; `text` is the whole reason.
void note_refusal(std::string text, ErrorCode code = ErrorCode::BackendFailed) noexcept;
/// Keeps text that a library prints: with the current call, or line by line in the log.
void note_text(std::string_view text) noexcept;
/// Hands text that a library printed in a call without an error to the log.
void log_text(std::string_view text) noexcept;

}  // namespace tandem::aoti
