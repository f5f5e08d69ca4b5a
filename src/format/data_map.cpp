#include "format/data_map.h"

#include <fmt/format.h>

#include <utility>

namespace tandem::format {

Result<DataMap> DataMap::merge(std::span<const NamedDataFile> data_files, const Program* program,
                               std::string program_file) {
  DataMap map;
  for (const NamedDataFile& source : data_files) {
    const auto file = static_cast<std::uint32_t>(map.files_.size());
    map.files_.push_back(source.file);
    for (const DataEntry& entry : source.data->entries) {
      const auto [at, added] = map.items_.try_emplace(entry.key, Item{entry, file});
      if (added) continue;
      const std::string& first = map.files_[at->second.file];
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("two data files have the same key: {} and {}", first, source.file)}
          .with_file(source.file)
          .with_key(std::string{entry.key});
    }
  }
  if (program == nullptr) return map;
  const auto file = static_cast<std::uint32_t>(map.files_.size());
  map.files_.push_back(std::move(program_file));
  for (const NamedDataEntry& entry : program->named_data) {
    map.items_.try_emplace(entry.key, Item{DataEntry{entry.key, entry.segment, entry.data, std::nullopt}, file});
  }
  return map;
}

Result<const DataMap::Item*> DataMap::find(std::string_view key) const {
  if (const auto at = items_.find(key); at != items_.end()) return &at->second;
  const std::string searched = files_.empty() ? std::string{"no file"} : fmt::to_string(fmt::join(files_, ", "));
  return Error{ErrorCode::NotFound, "no data under this key; searched: " + searched}.with_key(std::string{key});
}

}  // namespace tandem::format
