#include "cli/pack/manifest_node.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace tandem::cli {
namespace {

/// How many letters must be changed, added or removed to make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

std::string found_text(const JsonNode& json) {
  constexpr std::size_t kShown = 60;
  switch (json.kind) {
    case JsonNode::Kind::Null:
      return "null";
    case JsonNode::Kind::Bool:
      return std::get<bool>(json.scalar) ? "true" : "false";
    case JsonNode::Kind::Int:
      return fmt::to_string(std::get<std::int64_t>(json.scalar));
    case JsonNode::Kind::Double:
      return fmt::to_string(std::get<double>(json.scalar));
    case JsonNode::Kind::Text: {
      const auto& text = std::get<std::string>(json.scalar);
      return fmt::format("\"{}\"{}", printable(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
    }
    case JsonNode::Kind::List:
      return fmt::format("a list of {}", json.items.size());
    case JsonNode::Kind::Object:
      return "an object";
  }
  return "something else";
}

}  // namespace

std::string nearest_text(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 100;  // names that somebody wrote, not what a file is made of to take time
  if (name.size() > kLongest) return {};
  std::string_view nearest;
  std::size_t distance = 1 + (name.size() < 3 ? 1 : std::max<std::size_t>(name.size() / 3, 2));  // two: swapped letters
  for (const std::string_view other : known) {
    if (other.size() > kLongest) continue;
    const std::size_t letters = edit_distance(name, other);
    if (letters >= distance) continue;
    distance = letters;
    nearest = other;
  }
  if (nearest.empty()) {  // "aten::add" for "aten::add.out"
    for (const std::string_view other : known) {
      if (name.empty() || other.size() > kLongest || !other.starts_with(name)) continue;
      if (nearest.empty() || other.size() < nearest.size()) nearest = other;
    }
  }
  return nearest.empty() ? std::string{} : fmt::format(", did you mean '{}'?", printable(nearest));
}

Error ManifestSpot::error(ErrorCode code, std::string_view message) const {
  return error_at(code, file, place, message).with_field(key);
}

Error ManifestSpot::error(const Error& inner) const {
  const ErrorSite& site = inner.site();
  std::string where = site.file;
  if (!site.field.empty()) where += (where.empty() ? "" : ", ") + site.field;
  if (site.offset) where += fmt::format("{}offset {}", where.empty() ? "" : ", ", *site.offset);
  Error outer = error(inner.code(), where.empty() ? inner.message() : fmt::format("{} ({})", inner.message(), where));
  return std::move(outer)
      .with_expected(inner.expected(), inner.found())
      .with_native(inner.native().origin, inner.native().code, inner.native().text);
}

Error ManifestNode::unexpected(std::string expected) const {
  return error("unexpected value").with_expected(std::move(expected), found_text(*json_));
}

Result<std::string> ManifestNode::text() const {
  if (kind() != JsonNode::Kind::Text) return unexpected("a text");
  std::string text = std::get<std::string>(json_->scalar);
  if (text.empty()) return unexpected("a text that is not empty");
  if (text.find('\0') != std::string::npos) return unexpected("a text without NUL");
  return text;
}

Result<bool> ManifestNode::truth() const {
  if (kind() != JsonNode::Kind::Bool) return unexpected("true or false");
  return std::get<bool>(json_->scalar);
}

Result<std::int64_t> ManifestNode::integer(std::int64_t low, std::int64_t high) const {
  const auto* number = std::get_if<std::int64_t>(&json_->scalar);
  if (number != nullptr && *number >= low && *number <= high) return *number;
  if (low == INT64_MIN && high == INT64_MAX) return unexpected("a whole number");
  return unexpected(fmt::format("a whole number {}..{}", low, high));
}

Result<double> ManifestNode::number() const {
  if (const auto* number = std::get_if<double>(&json_->scalar)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&json_->scalar)) return static_cast<double>(*number);
  if (const auto* text = std::get_if<std::string>(&json_->scalar)) {
    if (*text == "inf") return std::numeric_limits<double>::infinity();
    if (*text == "-inf") return -std::numeric_limits<double>::infinity();
    if (*text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return unexpected("a number, \"inf\", \"-inf\" or \"nan\"");
}

Result<std::vector<ManifestNode>> ManifestNode::list(std::string expected) const {
  if (kind() != JsonNode::Kind::List) return unexpected(std::move(expected));
  std::vector<ManifestNode> nodes;
  nodes.reserve(json_->items.size());
  for (const JsonNode& item : json_->items) {
    nodes.emplace_back(item, *file_, fmt::format("{}[{}]", key_, nodes.size()));
  }
  return nodes;
}

ManifestNode ManifestNode::member(const JsonNode& json) const {
  return {json, *file_, key_.empty() ? printable(json.key) : key_ + "." + printable(json.key)};
}

Result<std::vector<ManifestNode>> ManifestNode::members() const {
  if (kind() != JsonNode::Kind::Object) return unexpected("an object");
  std::vector<ManifestNode> nodes;
  for (const JsonNode& item : json_->items) {
    if (item.key.empty() || item.key.find('\0') != std::string::npos) {
      return ManifestSpot{*file_, item.key_place, key_}.error(ErrorCode::InvalidArgument,
                                                              "a name that is empty or has NUL in it");
    }
    nodes.push_back(member(item));
  }
  return nodes;
}

Status ManifestNode::check_keys(std::span<const std::string_view> known) const {
  if (kind() != JsonNode::Kind::Object) return unexpected("an object");
  for (const JsonNode& item : json_->items) {
    if (std::find(known.begin(), known.end(), item.key) != known.end()) continue;
    const ManifestSpot spot{*file_, item.key_place, member(item).key_};
    return spot
        .error(ErrorCode::InvalidArgument,
               fmt::format("unknown key '{}'{}", printable(item.key), nearest_text(item.key, known)))
        .with_expected(fmt::format("one of {}", fmt::join(known, ", ")), {});
  }
  return {};
}

std::optional<ManifestNode> ManifestNode::find(std::string_view key) const {
  if (kind() != JsonNode::Kind::Object) return std::nullopt;
  for (const JsonNode& item : json_->items) {
    if (item.key == key) return member(item);
  }
  return std::nullopt;
}

Result<ManifestNode> ManifestNode::require(std::string_view key) const {
  if (std::optional<ManifestNode> found = find(key)) return *std::move(found);
  return error(fmt::format("the key '{}' is missing", key));
}

}  // namespace tandem::cli
