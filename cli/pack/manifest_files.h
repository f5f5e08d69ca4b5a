#pragma once

#include "base/mapped_file.h"
#include "cli/pack/manifest_array.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

namespace tandem::cli {

/// The files that a manifest names, relative to its folder, mapped when somebody asks for them.
///
/// Lifetime: reader() and what it gives hold as long as this object.
class ManifestFiles {
 public:
  explicit ManifestFiles(std::filesystem::path folder) : folder_{std::move(folder)} {}
  ManifestFiles(const ManifestFiles&) = delete;
  ManifestFiles& operator=(const ManifestFiles&) = delete;

  /// Errors: as base::MappedFile::open().
  [[nodiscard]] ReadFile reader() {
    return [this](const std::string& name) { return read(name); };
  }
  /// Whether `path` is one of the files that were read.
  [[nodiscard]] bool has_read(const std::filesystem::path& path) const {
    return std::any_of(files_.begin(), files_.end(), [&](const auto& file) {
      std::error_code ignored;  // what is not there is another file
      return std::filesystem::equivalent(folder_ / file.first, path, ignored);
    });
  }

 private:
  Result<std::span<const std::byte>> read(const std::string& name) {
    const auto known = files_.find(name);
    if (known != files_.end()) return known->second.bytes();
    TANDEM_TRY(base::MappedFile file, base::MappedFile::open(folder_ / name));
    return files_.emplace(name, std::move(file)).first->second.bytes();
  }

  std::filesystem::path folder_;
  std::map<std::string, base::MappedFile> files_{};
};

}  // namespace tandem::cli
