#include "backends/tensorrt/nvinfer/message_log.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tandem::nvinfer {
namespace {

/// The first error is the cause, so what comes when this is full is dropped.
struct Messages {
  std::array<char, 2048> text{};
  std::size_t length = 0;
};

thread_local Messages messages;

}  // namespace

void MessageLog::clear() noexcept { messages.length = 0; }

void MessageLog::copy_to(char* text, std::size_t capacity) noexcept {
  if (capacity == 0) return;
  const std::size_t length = std::min(messages.length, capacity - 1);
  std::memcpy(text, messages.text.data(), length);
  text[length] = 0;
}

void MessageLog::log(Severity severity, const char* message) noexcept {
  if (severity > Severity::kERROR || message == nullptr) return;
  if (messages.length != 0 && messages.length < messages.text.size()) messages.text[messages.length++] = '\n';
  const std::size_t length = std::min(std::strlen(message), messages.text.size() - messages.length);
  std::memcpy(messages.text.data() + messages.length, message, length);
  messages.length += length;
}

}  // namespace tandem::nvinfer
