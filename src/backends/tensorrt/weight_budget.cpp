#include "backends/tensorrt/weight_budget.h"

#include "base/log.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::tensorrt {
namespace {

constexpr std::size_t kMaxDigits = 256;

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  if (text.size() > kMaxDigits) return std::nullopt;
  std::int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc{} || stop != end || bytes < 0) return std::nullopt;
  return bytes;
}

Error refuse(ErrorCode code, std::string found) {
  return Error{code, "the weight streaming budget is no number of bytes"}
      .with_expected("a decimal number from 0 to 2^63 - 1", std::move(found))
      .with_key(std::string{kWeightBudgetKey});
}

Result<std::optional<std::int64_t>> read_option(const BackendOptions::OptionValue& option) {
  if (const auto* const number = std::get_if<std::int64_t>(&option)) {
    if (*number < 0) return refuse(ErrorCode::InvalidArgument, std::to_string(*number));
    return std::optional{*number};
  }
  const auto* const text = std::get_if<std::string>(&option);
  if (text == nullptr) return refuse(ErrorCode::InvalidType, "a truth value");
  if (text->empty()) {
    base::log(LogLevel::Info, "TensorRTBackend: an empty weight_streaming_budget is ignored");
    return std::optional<std::int64_t>{};
  }
  const auto bytes = parse_bytes(*text);
  if (!bytes) return refuse(ErrorCode::InvalidArgument, "'" + text->substr(0, kMaxDigits) + "'");
  return bytes;
}

}  // namespace

Result<std::optional<std::int64_t>> read_weight_budget(const LoadContext& context) {
  const BackendOptions::OptionValue* const option =
      context.options == nullptr ? nullptr : context.options->find(kWeightBudgetKey);
  if (option != nullptr) {
    TANDEM_TRY(const auto budget, read_option(*option));
    if (budget) return budget;
  }
  std::optional<std::int64_t> budget;
  for (const CompileSpec& spec : context.compile_specs) {
    if (spec.key != kWeightBudgetKey) continue;
    if (budget) {
      return Error{ErrorCode::InvalidProgram, "two compile specs set the weight streaming budget"}.with_key(
          std::string{kWeightBudgetKey});
    }
    const std::string_view text{reinterpret_cast<const char*>(spec.value.data()), spec.value.size()};
    budget = parse_bytes(text);
    if (!budget) return refuse(ErrorCode::InvalidProgram, "'" + std::string{text.substr(0, kMaxDigits)} + "'");
  }
  return budget;
}

Status apply_weight_budget(Engine& engine, std::optional<std::int64_t> budget) {
  const std::int64_t streamable = engine.streamable_bytes();
  if (streamable <= 0) {
    if (budget) {
      base::log(LogLevel::Info,
                "TensorRTBackend: the engine streams no weights, its weight_streaming_budget is ignored");
    }
    return {};
  }
  if (budget) return engine.set_weight_budget(std::min(*budget, streamable));
  if (engine.set_weight_budget(engine.automatic_budget()).ok()) return {};
  return engine.set_weight_budget(0);
}

}  // namespace tandem::tensorrt
