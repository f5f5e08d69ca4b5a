#include "cli/value_text.h"

#include "cli/elements.h"
#include "cli/npy.h"
#include "cli/strided.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tandem::cli {
namespace {

/// The whole of `text` as a number.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return number;
}

Error bad_value(std::string_view expected, std::string_view text) {
  return Error{ErrorCode::InvalidArgument, "not a value"}.with_expected(std::string{expected}, printable(text));
}

std::string elements_text(const Tensor& tensor, std::size_t max_elements) {
  const Result<Tensor> rows = contiguous(tensor);
  if (!rows.ok()) return {};
  return visit_element(tensor.dtype(), [&]<class T>(T) {
    const auto count = static_cast<std::size_t>(rows->nbytes() / sizeof(T));
    std::string out;
    for (std::size_t i = 0; i < std::min(count, max_elements); ++i) {
      if (i != 0) out += ' ';
      out += element_text(rows->data_as<T>()[i]);
    }
    if (count > max_elements) out += " ...";
    return out;
  });
}

}  // namespace

Result<Value> parse_value(std::string_view text, std::optional<ScalarType> dtype) {
  if (text == "none") return Value{};
  const auto after = [text](std::string_view prefix) -> std::optional<std::string_view> {
    if (!text.starts_with(prefix)) return std::nullopt;
    return text.substr(prefix.size());
  };
  if (const auto rest = after("int:")) {
    if (const auto number = number_from<std::int64_t>(*rest)) return Value{*number};
    return bad_value("int: and a whole number of 64 bits", text);
  }
  if (const auto rest = after("float:")) {
    if (const auto number = number_from<double>(*rest)) return Value{*number};
    return bad_value("float: and a number", text);
  }
  if (const auto rest = after("bool:")) {
    if (*rest == "true" || *rest == "1") return Value{true};
    if (*rest == "false" || *rest == "0") return Value{false};
    return bad_value("bool:true or bool:false", text);
  }
  if (const auto rest = after("string:")) return Value{std::string{*rest}};
  TANDEM_TRY(Tensor tensor, read_npy(std::filesystem::path{std::string{text}}, dtype));
  return Value{std::move(tensor)};
}

Result<std::pair<std::size_t, std::vector<std::int64_t>>> parse_indexed_shape(std::string_view text) {
  const Error bad = Error{ErrorCode::InvalidArgument, "not a shape"}.with_expected(
      "INDEX:SIZExSIZE..., for example 0:2x3x4", printable(text));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad;
  const auto index = number_from<std::size_t>(text.substr(0, colon));
  if (!index) return bad;
  std::vector<std::int64_t> sizes;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t cross = rest.find('x');
    const auto size = number_from<std::int64_t>(rest.substr(0, cross));
    if (!size || *size < 0) return bad;
    sizes.push_back(*size);
    if (cross == std::string_view::npos) break;
    rest.remove_prefix(cross + 1);
  }
  return std::pair{*index, std::move(sizes)};
}

std::string short_text(const Value& value, std::size_t max_elements) {
  switch (value.kind()) {
    case Value::Kind::None:
      return "none";
    case Value::Kind::Tensor:
      return value.tensor().defined() ? elements_text(value.tensor(), max_elements) : "";
    case Value::Kind::Int:
      return element_text(value.to_int());
    case Value::Kind::Double:
      return fmt::format("{}", value.to_double());
    case Value::Kind::Bool:
      return value.to_bool() ? "true" : "false";
    case Value::Kind::String:
      return "\"" + printable(value.to_text()) + "\"";
  }
  return {};
}

std::string type_text(const Value& value) {
  if (!value.is_tensor()) return std::string{name_of(value.kind())};
  return fmt::format("{} {}", name_of(value.tensor().dtype()), shape_text(value.tensor().sizes()));
}

}  // namespace tandem::cli
