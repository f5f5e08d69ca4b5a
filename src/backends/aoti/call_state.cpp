#include "backends/aoti/call_state.h"

#include "base/log.h"

namespace tandem::aoti {

namespace detail {
constinit thread_local CallState* current_call = nullptr;
}  // namespace detail

std::int32_t refuse(std::string_view shim, std::string_view why) noexcept {
  try {
    std::string text = "aoti_torch_" + std::string{shim} + ": " + std::string{why};
    if (CallState* call = current_call(); call != nullptr) {
      call->refusal = std::move(text);
    } else {
      base::log(LogLevel::Error, text);
    }
  } catch (...) {  // no memory for the text; the status still tells
  }
  return 1;
}

}  // namespace tandem::aoti
