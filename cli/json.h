#pragma once

#include <tandem/error.h>
#include <tandem/value.h>

#include <nlohmann/json.hpp>

#include <string>

/// JSON as the command prints it.
namespace tandem::cli {

using Json = nlohmann::ordered_json;

/// A number; "inf", "-inf" or "nan" where JSON has none.
[[nodiscard]] Json number_json(double number);

/// kind; dtype, shape (tensors) or value (others).
[[nodiscard]] Json value_json(const Value& value);

/// code, message, expected, found, native, site, raised_at, text; what does not apply is null or left out of `site`.
[[nodiscard]] Json error_json(const Error& error);

/// Indented text with a newline at the end. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string to_text(const Json& json);

}  // namespace tandem::cli
