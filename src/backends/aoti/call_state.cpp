#include "backends/aoti/call_state.h"

#include "base/log.h"

#include <algorithm>
#include <mutex>
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

/// A library that prints in a loop must not take the process's memory.
constexpr std::size_t kMaxText = std::size_t{1} << 14;

/// Text of threads that are in no call (those of OpenMP), up to the next end of a line.
struct OpenLine {
  std::mutex mutex{};
  std::string text{};
};

OpenLine& open_line() {
  static auto* line = new OpenLine;  // never destroyed: libraries may print while the process ends
  return *line;
}

}  // namespace

void note_text(std::string_view text) noexcept {
  try {
    if (CallState* call = current_call(); call != nullptr) {
      call->text.append(text.substr(0, kMaxText - std::min(kMaxText, call->text.size())));
      return;
    }
    OpenLine& line = open_line();
    std::string lines;
    {
      const std::scoped_lock lock{line.mutex};
      line.text.append(text);
      if (line.text.back() != '\n' && line.text.size() < kMaxText) return;
      lines = std::exchange(line.text, {});
    }
    log_text(lines);
  } catch (...) {  // no memory for the text
  }
}

void log_text(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) base::log(LogLevel::Warning, line);
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
