#pragma once

#include "format/ptd/ptd.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tandem::format {

/// A data file and the name to call it in errors.
struct NamedDataFile {
  std::string file{};
  const DataFile* data = nullptr;
};

/// The blobs of a program and its data files under their keys.
///
/// Lifetime: holds views into the mapped files, not the mappings.
class DataMap {
 public:
  struct Item {
    DataEntry entry{};
    std::uint32_t file = 0;  ///< Index into files().
  };

  DataMap() = default;

  /// Merges the data files; then adds the keys of `program`, if there is one, that no data file has.
  ///
  /// Errors: InvalidArgument, two data files have the same key.
  [[nodiscard]] static Result<DataMap> merge(std::span<const NamedDataFile> data_files,
                                             const Program* program = nullptr, std::string program_file = {});

  /// Errors: NotFound, naming the key and the files that were searched.
  [[nodiscard]] Result<const Item*> find(std::string_view key) const;

  /// The data files in the order given, then the program.
  [[nodiscard]] std::span<const std::string> files() const noexcept { return files_; }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  // Keys are views into the files, as the entries' own.
  std::unordered_map<std::string_view, Item> items_{};
  std::vector<std::string> files_{};
};

}  // namespace tandem::format
