#pragma once

#include "base/mapped_file.h"
#include "format/data_map.h"
#include "format/ptd/ptd.h"
#include "format/pte/pte.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::cli {

/// One parsed data file.
struct InspectedData {
  std::string file{};
  base::MappedFile mapped{};
  format::DataFile data{};
};

/// A program with its data files.
/// Lifetime: everything points into the mappings.
struct InspectedProgram {
  std::string file{};
  base::MappedFile mapped{};
  format::Program program{};
  std::vector<InspectedData> data_files{};
  format::DataMap named{};
};

/// Errors: NotFound, AccessFailed; InvalidExternalData, with file, field and offset.
[[nodiscard]] Result<InspectedData> read_data(const std::filesystem::path& file);

/// Errors: as read_data(); InvalidProgram; InvalidArgument, a key in two data files.
[[nodiscard]] Result<InspectedProgram> read_program(const std::filesystem::path& file,
                                                    std::span<const std::string> data_files);

}  // namespace tandem::cli
