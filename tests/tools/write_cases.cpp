/// write_cases OUT CASE_FOLDER...: writes case folders below OUT: each given one with its files written anew, and
/// programs of the builder with the numbers that Tandem computes.

#include "base/mapped_file.h"
#include "cli/npy.h"
#include "format/ptd/write.h"
#include "format/pte/write.h"
#include "support/built_programs.h"

#include <tandem/module.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace tandem;
using nlohmann::json;

struct Inputs {
  std::vector<std::int64_t> sizes{};
  std::vector<std::vector<float>> calls{};
};

json describe(const std::string& file, const Tensor& tensor) {
  return {{"kind", "tensor"}, {"file", file}, {"dtype", name_of(tensor.dtype())}, {"shape", tensor.sizes()}};
}

Status write_built(const fs::path& folder, const ProgramBuilder& program, const std::vector<Inputs>& inputs) {
  fs::create_directories(folder);
  TANDEM_TRY(const BuiltProgram built, program.build());
  TANDEM_CHECK_OK(program.save(folder / "program.pte", folder / "data.ptd"));
  json files{{"pte", "program.pte"}};
  std::vector<fs::path> data_files;
  if (!built.ptd.empty()) {
    files["ptd"] = {"data.ptd"};
    data_files.push_back(folder / "data.ptd");
  }
  Module module{folder / "program.pte", data_files};
  json cases = json::array();
  for (const Inputs& shape : inputs) {
    for (const std::vector<float>& elements : shape.calls) {
      const std::string number = std::to_string(cases.size());
      TANDEM_TRY(const Tensor in, Tensor::empty(ScalarType::Float, shape.sizes));
      std::ranges::copy(elements, in.data_as<float>());
      TANDEM_TRY(const Value out, module.get("forward", {in}));
      TANDEM_CHECK_OK(cli::write_npy(folder / ("in" + number + ".npy"), in));
      TANDEM_CHECK_OK(cli::write_npy(folder / ("out" + number + ".npy"), out.tensor()));
      cases.push_back({{"inputs", {describe("in" + number + ".npy", in)}},
                       {"outputs", {describe("out" + number + ".npy", out.tensor())}}});
    }
  }
  const json meta{{"files", files}, {"methods", {{"forward", {{"cases", cases}}}}}};
  std::ofstream{folder / "meta.json"} << meta.dump(1) << '\n';
  return {};
}

Status save(const fs::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream out{path, std::ios::binary};
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return out.flush() ? Status{} : Error{ErrorCode::AccessFailed, "not written"}.with_file(path.string());
}

Status rewrite(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::create_directories(to);
  for (const fs::directory_entry& entry : fs::directory_iterator{from}) {
    const fs::path& path = entry.path();
    const fs::path copy = to / path.filename();
    if (path.extension() != ".pte" && path.extension() != ".ptd") {
      fs::copy_file(path, copy);
      continue;
    }
    TANDEM_TRY(const base::MappedFile file, base::MappedFile::open(path));
    if (path.extension() == ".pte") {
      TANDEM_TRY(const format::Program program, format::read_pte(file.bytes()));
      TANDEM_TRY(const auto bytes, format::write_pte(program));
      TANDEM_CHECK_OK(save(copy, bytes));
    } else {
      TANDEM_TRY(const format::DataFile data, format::read_ptd(file.bytes()));
      TANDEM_TRY(const auto bytes, format::write_ptd(data));
      TANDEM_CHECK_OK(save(copy, bytes));
    }
  }
  return {};
}

Status run(const fs::path& out, const std::vector<fs::path>& folders) {
  TANDEM_CHECK_OK(write_built(out / "built_sum", testing::sum_program(), {{{2, 3}, {{1, 2, 3, 4, 5, 6}}}}));
  TANDEM_CHECK_OK(write_built(out / "built_loop", testing::loop_program(5), {{{3}, {{1, 2, 3}, {-1, 0, 0.5}}}}));
  TANDEM_CHECK_OK(write_built(out / "built_branch", testing::branch_program(), {{{1}, {{4}, {-4}, {0.5}}}}));
  TANDEM_CHECK_OK(write_built(out / "built_state", testing::state_program(), {{{1}, {{1}, {2}, {-50}}}}));
  TANDEM_CHECK_OK(
      write_built(out / "built_dynamic", testing::dynamic_program(),
                  {{{4, 2}, {{1, 2, 3, 4, 5, 6, 7, 8}}}, {{1, 2}, {{1, -1}}}, {{3, 2}, {{1, 0, 0, 1, 1, 1}}}}));
  for (const fs::path& folder : folders) TANDEM_CHECK_OK(rewrite(folder, out / folder.filename()));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: write_cases OUT CASE_FOLDER...\n", stderr);
    return 2;
  }
  try {
    const Status status = run(argv[1], {argv + 2, argv + argc});
    if (status.ok()) return 0;
    std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  } catch (const std::exception& error) {  // of the file system
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
