#include "cli/inspect_files.h"

#include <utility>

namespace tandem::cli {

Result<InspectedData> read_data(const std::filesystem::path& file) {
  InspectedData result;
  result.file = file.string();
  TANDEM_TRY(result.mapped, base::MappedFile::open(file));
  Result<format::DataFile> read = format::read_ptd(result.mapped.bytes());
  if (!read.ok()) return std::move(read).error().with_file(result.file);
  result.data = std::move(read).value();
  return result;
}

Result<InspectedProgram> read_program(const std::filesystem::path& file, std::span<const std::string> data_files) {
  InspectedProgram result;
  result.file = file.string();
  TANDEM_TRY(result.mapped, base::MappedFile::open(file));
  Result<format::Program> read = format::read_pte(result.mapped.bytes());
  if (!read.ok()) return std::move(read).error().with_file(result.file);
  result.program = std::move(read).value();
  std::vector<format::NamedDataFile> named;
  result.data_files.reserve(data_files.size());  // `named` points into it
  for (const std::string& data_file : data_files) {
    TANDEM_TRY(InspectedData data, read_data(data_file));
    result.data_files.push_back(std::move(data));
    named.push_back({data_file, &result.data_files.back().data});
  }
  TANDEM_TRY(result.named, format::DataMap::merge(named, &result.program, result.file));
  return result;
}

}  // namespace tandem::cli
