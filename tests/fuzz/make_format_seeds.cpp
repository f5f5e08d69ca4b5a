/// make_format_seeds FIXTURES OUT: writes small files for the fuzz targets to start from, OUT/pte/* and OUT/ptd/*.
/// Programs lose the bytes of their segments, which the readers never look at.

#include "base/checked.h"
#include "support/file_builder.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

namespace fs = std::filesystem;
namespace schema = tandem::format::schema;
using tandem::testing::FileBytes;

std::string contents(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write(const fs::path& path, tandem::format::Bytes bytes) {
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
}

/// The tables of a real program without what its segments hold; constants are kept, as their place is checked.
FileBytes without_segment_data(const FileBytes& file) {
  schema::ProgramT program;
  tandem::testing::tables(file)->UnPackTo(&program);
  std::string data;
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    schema::DataSegmentT& segment = *program.segments[i];
    const bool is_constants = program.constant_segment && program.constant_segment->segment_index == i;
    if (!is_constants) segment.size = 0;
    segment.offset = data.size();
    data.resize(tandem::base::align_up(data.size() + segment.size, tandem::testing::kSegmentAlignment));
  }
  return tandem::testing::pte_file(program, data);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_format_seeds FIXTURES OUT\n", stderr);
    return 2;
  }
  const fs::path out{argv[2]};
  fs::create_directories(out / "pte");
  fs::create_directories(out / "ptd");
  write(out / "pte" / "rich.pte",
        tandem::testing::pte_file(tandem::testing::rich_program(), tandem::testing::rich_segment_data()).bytes());
  constexpr std::uintmax_t kLargestDataFile = 4096;
  for (const fs::directory_entry& fixture : fs::directory_iterator{argv[1]}) {
    if (!fixture.is_directory()) continue;
    const std::string name = fixture.path().filename().string();
    for (const fs::directory_entry& file : fs::directory_iterator{fixture.path()}) {
      const fs::path& path = file.path();
      if (path.extension() == ".pte") {
        write(out / "pte" / (name + ".pte"), without_segment_data(FileBytes{contents(path)}).bytes());
      } else if (path.extension() == ".ptd" && file.file_size() <= kLargestDataFile) {
        write(out / "ptd" / (name + ".ptd"), FileBytes{contents(path)}.bytes());
      }
    }
  }
  return 0;
}
