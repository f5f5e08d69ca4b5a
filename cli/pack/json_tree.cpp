#include "cli/pack/json_tree.h"

#include "cli/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tandem::cli {
namespace {

/// Steps over the tokens of a text in the order in which the parser reports them: it tells no places itself.
class TokenWalk {
 public:
  explicit TokenWalk(std::string_view text) noexcept : text_{text} {
    if (text_.starts_with("\xEF\xBB\xBF")) place_.offset = 3;
  }

  /// The next token's place; the walk goes on behind the token.
  TextPlace next() noexcept {
    skip_between();
    const TextPlace start = place_;
    const char first = peek();
    if (first == '"') {
      skip_text();
    } else if (is_one_of(first, "{}[]")) {
      advance();
    } else {
      while (!at_end() && !is_one_of(peek(), ",:{}[]\" \t\r\n/")) advance();
    }
    return start;
  }
  /// The place of byte `offset`, which lies behind the tokens so far.
  TextPlace at(std::uint64_t offset) noexcept {
    while (!at_end() && place_.offset < offset) advance();
    return place_;
  }

 private:
  static bool is_one_of(char c, std::string_view set) noexcept { return set.find(c) != std::string_view::npos; }
  [[nodiscard]] bool at_end() const noexcept { return place_.offset >= text_.size(); }
  [[nodiscard]] std::string_view rest() const noexcept { return text_.substr(place_.offset); }
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : text_[place_.offset]; }

  void advance() noexcept {
    if (at_end()) return;
    const auto byte = static_cast<unsigned char>(text_[place_.offset++]);
    if (byte == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {  // the first byte of a character
      ++place_.column;
    }
  }
  void advance(std::size_t count) noexcept {
    for (; count > 0; --count) advance();
  }
  void skip_between() noexcept {
    while (!at_end()) {
      if (is_one_of(peek(), ",: \t\r\n")) {
        advance();
      } else if (rest().starts_with("//")) {
        advance(std::min(rest().find_first_of("\r\n"), rest().size()));
      } else if (rest().starts_with("/*")) {
        const std::size_t end = rest().find("*/", 2);
        advance(end == std::string_view::npos ? rest().size() : end + 2);
      } else {
        return;
      }
    }
  }
  void skip_text() noexcept {
    advance();
    while (!at_end() && peek() != '"') advance(peek() == '\\' ? 2 : 1);
    advance();
  }

  std::string_view text_;
  TextPlace place_{};
};

/// Builds the tree from the parser's events. A method answers false to stop; error() then says why.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const std::string& file) : walk_{text}, file_{file} {}

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }
  JsonNode take_root() noexcept { return std::move(root_); }

  bool null() override { return add(JsonNode::Kind::Null, {}); }
  bool boolean(bool value) override { return add(JsonNode::Kind::Bool, value); }
  bool number_integer(number_integer_t value) override { return add(JsonNode::Kind::Int, value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > INT64_MAX) return refuse(walk_.next(), "a whole number beyond 64 bits");
    return add(JsonNode::Kind::Int, static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // The parser makes floating-point numbers of whole ones that are too long for it.
    if (text.find_first_of(".eE") == std::string::npos) return refuse(walk_.next(), "a whole number beyond 64 bits");
    return add(JsonNode::Kind::Double, value);
  }
  bool string(string_t& value) override { return add(JsonNode::Kind::Text, std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // not in texts
  bool start_object(std::size_t /*count*/) override { return open(JsonNode::Kind::Object); }
  bool start_array(std::size_t /*count*/) override { return open(JsonNode::Kind::List); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    key_place_ = walk_.next();
    const auto [known, added] = keys_.back().try_emplace(value, key_place_);
    key_ = std::move(value);
    if (added) return true;
    return refuse(key_place_,
                  fmt::format("the key '{}' is here twice; first in line {}", printable(key_), known->second.line));
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& what) override {
    std::string_view message = what.what();
    if (const std::size_t start = message.find(": "); start != std::string_view::npos) message.remove_prefix(start + 2);
    return refuse(walk_.at(position > 0 ? position - 1 : 0), printable(message));
  }

 private:
  bool refuse(const TextPlace& place, const std::string& message) {
    error_ = error_at(ErrorCode::InvalidArgument, file_, place, message);
    return false;
  }

  /// The new node; it stays where it is until it is closed, because only open nodes get items.
  JsonNode& append(JsonNode::Kind kind) {
    JsonNode& node = open_.empty() ? root_ : open_.back()->items.emplace_back();
    node.kind = kind;
    node.place = walk_.next();
    if (!open_.empty() && open_.back()->kind == JsonNode::Kind::Object) {
      node.key = std::move(key_);
      node.key_place = key_place_;
    }
    return node;
  }
  bool add(JsonNode::Kind kind, decltype(JsonNode::scalar) scalar) {
    append(kind).scalar = std::move(scalar);
    return true;
  }
  bool open(JsonNode::Kind kind) {
    JsonNode& node = append(kind);
    if (open_.size() == kMaxJsonDepth) {
      return refuse(node.place, fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
    open_.push_back(&node);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    walk_.next();
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  TokenWalk walk_;
  const std::string& file_;
  JsonNode root_{};
  std::vector<JsonNode*> open_{};
  std::vector<std::unordered_map<std::string, TextPlace>> keys_{};  // of the open nodes
  std::string key_{};
  TextPlace key_place_{};
  std::optional<Error> error_{};
};

}  // namespace

Error error_at(ErrorCode code, const std::string& file, const TextPlace& place, std::string_view message) {
  return Error{code, fmt::format("{}:{}:{}: {}", file, place.line, place.column, message)}.with_file(file).with_offset(
      place.offset);
}

Result<JsonNode> parse_json_tree(std::string_view text, const std::string& file) {
  TreeBuilder builder{text, file};
  const bool parsed = nlohmann::json::sax_parse(text, &builder, nlohmann::json::input_format_t::json, /*strict=*/true,
                                                /*ignore_comments=*/true);
  if (builder.error()) return *builder.error();
  if (!parsed) return error_at(ErrorCode::InvalidArgument, file, {}, "no JSON");
  return builder.take_root();
}

}  // namespace tandem::cli
