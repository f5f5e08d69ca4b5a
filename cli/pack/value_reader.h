#pragma once

#include "cli/pack/manifest.h"
#include "cli/pack/names.h"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tandem::cli {

/// Reads the values of one method: those with names, and the numbers among arguments.
///
/// Lifetime: refers to the data and their names.
class ValueReader {
 public:
  ValueReader(const std::vector<ManifestData>& data, const Names& data_names) : data_{data}, data_names_{data_names} {}

  /// The member `values` of a method. Called once, first.
  /// Errors: as parse_manifest().
  [[nodiscard]] Status read_named(const ManifestNode& values);
  /// The value that a text names.
  /// Errors: InvalidArgument.
  [[nodiscard]] Result<ManifestArg> find(const ManifestNode& node) const;
  /// The same, or a number, list, ... that stands there itself.
  [[nodiscard]] Result<ManifestArg> read_arg(const ManifestNode& node);

  template <class T>
  [[nodiscard]] bool is(const ManifestArg& arg) const {
    return std::holds_alternative<T>(values_[arg.value].content);
  }
  [[nodiscard]] bool is_list(const ManifestArg& arg) const;
  [[nodiscard]] bool is_constant(const ManifestArg& arg) const;
  /// A truth value, or a tensor of them.
  [[nodiscard]] bool is_condition(const ManifestArg& arg) const;
  [[nodiscard]] std::vector<ManifestValue> take() { return std::move(values_); }

 private:
  [[nodiscard]] std::size_t add_value(const ManifestNode& node, ManifestContent content, std::string name = {});
  [[nodiscard]] Result<ManifestContent> read_content(const ManifestNode& node);
  [[nodiscard]] Result<ManifestContent> read_one_key(const ManifestNode& node);
  [[nodiscard]] Result<ManifestContent> read_plain_list(const ManifestNode& node);
  [[nodiscard]] Result<ManifestContent> read_int_list(const ManifestNode& node);
  [[nodiscard]] Result<ManifestContent> read_tensor_list(const ManifestNode& node, bool optional) const;
  [[nodiscard]] Result<ManifestContent> read_tensor(const ManifestNode& node) const;
  [[nodiscard]] Status read_mutable(const ManifestNode& node, ManifestTensor& tensor) const;
  [[nodiscard]] Result<ManifestContents> read_contents(const ManifestNode& node, const ManifestArray& array) const;

  const std::vector<ManifestData>& data_;
  const Names& data_names_;
  std::vector<ManifestValue> values_{};
  Names names_{};
};

}  // namespace tandem::cli
