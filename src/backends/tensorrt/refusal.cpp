#include "backends/tensorrt/refusal.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace tandem::tensorrt {
namespace {

struct Sides {
  std::string expected{};
  std::string found{};
};

/// The words between two marks, without what ends a sentence.
std::optional<std::string> between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + begin.size());
  text = text.substr(0, text.find(end));
  while (!text.empty() && (text.back() == ' ' || text.back() == '.' || text.back() == ')')) text.remove_suffix(1);
  return text.empty() ? std::nullopt : std::optional{std::string{text}};
}

/// "expecting library version 10.3.0 got 8.6.1, please rebuild", "expecting compute 9.0 got compute 8.6, ...",
/// "Current Version: 239, Serialized Engine Version: 236".
/// Source: what TensorRT 8 to 10 log.
std::optional<Sides> find_sides(std::string_view text) {
  struct Marks {
    std::string_view expected;
    std::string_view middle;
    std::string_view found;
  };
  constexpr std::array kMarks{Marks{"expecting ", " got ", " got "},
                              Marks{"Current Version: ", ",", "Serialized Engine Version: "}};
  for (const Marks& marks : kMarks) {
    auto expected = between(text, marks.expected, marks.middle);
    auto found = between(text, marks.found, ",");
    if (!expected || !found) continue;
    if (const std::size_t line = found->find_first_of("\n)"); line != std::string::npos) found->resize(line);
    return Sides{*std::move(expected), *std::move(found)};
  }
  return std::nullopt;
}

}  // namespace

Error library_failed(std::string message, std::string text) {
  return Error{ErrorCode::BackendFailed, std::move(message)}.with_native(Origin::TensorRt, 0, std::move(text));
}

Error engine_refused(std::string text) {
  if (auto sides = find_sides(text)) {
    return Error{ErrorCode::IncompatibleDelegate, "the engine was built for another TensorRT or another GPU"}
        .with_expected(std::move(sides->expected), std::move(sides->found))
        .with_native(Origin::TensorRt, 0, std::move(text));
  }
  return library_failed("TensorRT does not take the engine", std::move(text));
}

}  // namespace tandem::tensorrt
