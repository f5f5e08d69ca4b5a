#pragma once

#include <tandem/program.h>
#include <tandem/result.h>
#include <tandem/value.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Values as they are written on the command line and shown to people.
namespace tandem::cli {

/// A value from "x.npy", "int:3", "float:0.5", "bool:true", "string:abc" or "none". Anything else is a file name.
///
/// `dtype` is what the method has at this place, see read_npy().
/// Errors: InvalidArgument, the text after the colon is no such value; as read_npy().
[[nodiscard]] Result<Value> parse_value(std::string_view text, std::optional<ScalarType> dtype = {});

/// An index and a shape from "1:2x3x4".
/// Errors: InvalidArgument, showing the form that is expected.
[[nodiscard]] Result<std::pair<std::size_t, std::vector<std::int64_t>>> parse_indexed_shape(std::string_view text);

/// A number, a text in quotes, or a tensor's first elements: "0.5 1 -3 ...".
/// Units: `max_elements` of a tensor are shown.
[[nodiscard]] std::string short_text(const Value& value, std::size_t max_elements = 6);

/// "float32 360x1x8x8", "int", ...
[[nodiscard]] std::string type_text(const Value& value);

}  // namespace tandem::cli
