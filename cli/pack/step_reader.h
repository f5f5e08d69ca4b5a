#pragma once

#include "cli/pack/manifest.h"
#include "cli/pack/names.h"
#include "cli/pack/value_reader.h"

#include <cstddef>
#include <vector>

namespace tandem::cli {

/// Reads the steps of one method.
///
/// Lifetime: refers to the values and the names.
class StepReader {
 public:
  StepReader(ValueReader& values, const Names& delegates) : values_{values}, delegates_{delegates} {}

  /// The member `steps` of a method. Called once.
  /// Errors: as parse_manifest().
  [[nodiscard]] Result<std::vector<ManifestStep>> read(const ManifestNode& steps);
  [[nodiscard]] std::size_t label_count() const noexcept { return labels_.size(); }

 private:
  [[nodiscard]] Status find_label(const ManifestNode& node);
  [[nodiscard]] Status read_step(const ManifestNode& node, ManifestStep& step);
  [[nodiscard]] Status read_args(const ManifestNode& node, ManifestStep& step);
  [[nodiscard]] Status read_op(const ManifestNode& node, ManifestStep& step);
  [[nodiscard]] Status read_call(const ManifestNode& node, ManifestStep& step);
  [[nodiscard]] Status read_move(const ManifestNode& node, ManifestStep& step) const;
  [[nodiscard]] Status read_jump(const ManifestNode& node, ManifestStep& step);
  [[nodiscard]] Status read_free(const ManifestNode& node, ManifestStep& step) const;
  [[nodiscard]] Status read_label(const ManifestNode& node, ManifestStep& step) const;

  ValueReader& values_;
  const Names& delegates_;
  Names labels_{};
};

}  // namespace tandem::cli
