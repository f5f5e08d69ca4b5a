#include "cli/log_sink.h"

#include "cli/text.h"

#include <tandem/log.h>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace tandem::cli {
namespace {

spdlog::level::level_enum level_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void log_to_stderr() {
  auto logger = std::make_shared<spdlog::logger>("tandem", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->set_pattern("%n: %l: %v");
  set_log_sink([logger](LogLevel level, std::string_view text) { logger->log(level_of(level), printable(text)); });
}

}  // namespace tandem::cli
