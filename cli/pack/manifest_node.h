#pragma once

#include "cli/pack/json_tree.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli {

/// A place in a manifest, for errors that show up after it was read.
struct ManifestSpot {
  std::string file{};
  TextPlace place{};
  std::string key{};  ///< "methods[0].steps[3].args[1]".

  /// "FILE:LINE:COLUMN: MESSAGE", with file, key (as field) and offset in the site.
  [[nodiscard]] Error error(ErrorCode code, std::string_view message) const;
  /// `inner`, which another part told, as an error of this place. Whatever file and field it names become part of the
  /// message.
  [[nodiscard]] Error error(const Error& inner) const;
};

/// A value of a manifest with its place, so that every error can tell it.
///
/// Lifetime: points into the tree and to the name of the file.
class ManifestNode {
 public:
  ManifestNode(const JsonNode& json, const std::string& file, std::string key = {})
      : json_{&json}, file_{&file}, key_{std::move(key)} {}

  [[nodiscard]] const JsonNode& json() const noexcept { return *json_; }
  [[nodiscard]] JsonNode::Kind kind() const noexcept { return json_->kind; }
  [[nodiscard]] ManifestSpot spot() const { return {*file_, json_->place, key_}; }

  /// An error with this place.
  [[nodiscard]] Error error(std::string_view message) const {
    return spot().error(ErrorCode::InvalidArgument, message);
  }
  /// One that shows what was found.
  [[nodiscard]] Error unexpected(std::string expected) const;

  // Each of these: InvalidArgument, it is something else.
  [[nodiscard]] Result<std::string> text() const;  ///< Not empty, and no NUL in it.
  [[nodiscard]] Result<bool> truth() const;
  [[nodiscard]] Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  /// A number, "inf", "-inf" or "nan".
  [[nodiscard]] Result<double> number() const;
  [[nodiscard]] Result<std::vector<ManifestNode>> list(std::string expected = "a list") const;

  /// Errors: InvalidArgument: no object; a key that is not one of `known`, with the nearest of these.
  [[nodiscard]] Status check_keys(std::span<const std::string_view> known) const;
  /// The members of an object. Errors: InvalidArgument, no object; an empty key.
  [[nodiscard]] Result<std::vector<ManifestNode>> members() const;
  [[nodiscard]] std::optional<ManifestNode> find(std::string_view key) const;
  /// Errors: InvalidArgument, there is none.
  [[nodiscard]] Result<ManifestNode> require(std::string_view key) const;

 private:
  [[nodiscard]] ManifestNode member(const JsonNode& json) const;

  const JsonNode* json_;
  const std::string* file_;
  std::string key_;
};

/// ", did you mean 'NEAREST'?" of `known`: the most alike, else the shortest that goes on behind `name`; or nothing.
[[nodiscard]] std::string nearest_text(std::string_view name, std::span<const std::string_view> known);

}  // namespace tandem::cli
