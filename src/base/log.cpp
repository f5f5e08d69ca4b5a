#include "base/log.h"

#include <memory>
#include <mutex>
#include <utility>

namespace tandem {
namespace {

struct Sink {
  std::mutex mutex;
  std::shared_ptr<const LogSink> current;
};

Sink& sink() {
  static Sink* instance = new Sink;  // never destroyed: threads may log while the process ends
  return *instance;
}

}  // namespace

void set_log_sink(LogSink next) {
  auto shared = next ? std::make_shared<const LogSink>(std::move(next)) : nullptr;
  const std::scoped_lock lock{sink().mutex};
  sink().current = std::move(shared);
}

namespace base {

void log(LogLevel level, std::string_view text) noexcept {
  try {
    std::shared_ptr<const LogSink> current;
    {
      const std::scoped_lock lock{sink().mutex};
      current = sink().current;
    }
    if (current != nullptr) (*current)(level, text);
  } catch (...) {  // a sink that throws must not take the run with it
  }
}

}  // namespace base
}  // namespace tandem
