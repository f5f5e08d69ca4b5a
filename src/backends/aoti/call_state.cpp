#include "backends/aoti/call_state.h"

#include "base/log.h"

#include <utility>

namespace tandem::aoti {

namespace detail {
constinit thread_local CallState* current_call = nullptr;
}  // namespace detail

void note_refusal(std::string text, ErrorCode code) noexcept {
  if (CallState* call = current_call(); call != nullptr) {
    call->refusal = std::move(text);
    call->refusal_code = code;
  } else {
    base::log(LogLevel::Error, text);
  }
}

namespace {

std::int32_t refuse_with(ErrorCode code, std::string_view shim, std::string_view why) noexcept {
  try {
    note_refusal("aoti_torch_" + std::string{shim} + ": " + std::string{why}, code);
  } catch (...) {  // no memory for the text; the status still tells
  }
  return 1;
}

}  // namespace

std::int32_t refuse(std::string_view shim, std::string_view why) noexcept {
  return refuse_with(ErrorCode::BackendFailed, shim, why);
}

std::int32_t refuse_always(std::string_view shim, std::string_view why) noexcept {
  return refuse_with(ErrorCode::IncompatibleDelegate, shim, why);
}

}  // namespace tandem::aoti
