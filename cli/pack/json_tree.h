#pragma once

#include <tandem/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem::cli {

/// Where something is written in a text.
/// Units: lines and columns from 1; a column is a character of UTF-8. `offset` in bytes from 0.
struct TextPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint64_t offset = 0;
};

/// One value of a JSON document, and where it is written.
struct JsonNode {
  enum class Kind : std::uint8_t { Null, Bool, Int, Double, Text, List, Object };

  Kind kind = Kind::Null;
  TextPlace place{};
  std::variant<std::monostate, bool, std::int64_t, double, std::string> scalar{};
  std::vector<JsonNode> items{};  ///< Of a List or an Object, in the order of the text.
  std::string key{};              ///< In an Object.
  TextPlace key_place{};
};

inline constexpr std::size_t kMaxJsonDepth = 32;

/// Parses JSON with comments (`//` and `/* */`).
///
/// Errors: InvalidArgument, with place, for what is not JSON, a key that an object has twice, a whole number beyond 64
///   bits (signed), nesting deeper than kMaxJsonDepth. `file` stands for the text in errors.
[[nodiscard]] Result<JsonNode> parse_json_tree(std::string_view text, const std::string& file);

/// "FILE:LINE:COLUMN: MESSAGE", with file and offset in the site.
[[nodiscard]] Error error_at(ErrorCode code, const std::string& file, const TextPlace& place, std::string_view message);

}  // namespace tandem::cli
