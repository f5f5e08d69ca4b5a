#include "cli/command.h"
#include "cli/json.h"
#include "cli/pack/manifest_files.h"
#include "cli/pack/pack.h"
#include "cli/text.h"
#include "cli/write_file.h"

#include <tandem/program.h>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

struct PackOptions {
  std::string manifest{};
  std::string pte{};
  std::string ptd{};
  bool json = false;
};

struct WrittenFile {
  std::string file{};
  std::uint64_t bytes = 0;
};

Result<Manifest> read_manifest(const std::string& file) {
  TANDEM_TRY(const base::MappedFile mapped, base::MappedFile::open(file));
  return parse_manifest({reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()}, file);
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes the files beside their places, reads them there, and only then moves them.
Result<std::vector<WrittenFile>> write_files(const BuiltProgram& files, const PackOptions& options) {
  TANDEM_TRY(NewFile program, NewFile::write(options.pte, text_of(files.pte)));
  std::optional<NewFile> data;
  std::vector<std::filesystem::path> data_paths;
  if (!files.ptd.empty()) {
    TANDEM_TRY(data, NewFile::write(options.ptd, text_of(files.ptd)));
    data_paths.emplace_back(data->path());
  }
  TANDEM_TRY([[maybe_unused]] const auto read, Program::load(program.path(), data_paths));
  std::vector<WrittenFile> written{{options.pte, files.pte.size()}};
  if (data) {
    TANDEM_CHECK_OK(data->move_into_place());
    written.push_back({options.ptd, files.ptd.size()});
  }
  TANDEM_CHECK_OK(program.move_into_place());
  return written;
}

Json report_json(const PackOptions& options, const PackedProgram& packed, const std::vector<WrittenFile>& files) {
  Json report{
      {"manifest", options.manifest}, {"files", Json::array()}, {"methods", Json::array()}, {"data", Json::array()}};
  for (const WrittenFile& file : files) report["files"].push_back({{"file", file.file}, {"bytes", file.bytes}});
  for (const PackedMethod& method : packed.methods) {
    Json delegates = Json::array();
    for (const PackedDelegate& delegate : method.delegates) {
      delegates.push_back({{"name", delegate.name},
                           {"backend", delegate.backend},
                           {"kind", delegate.kind},
                           {"payload_bytes", delegate.payload_bytes}});
    }
    report["methods"].push_back({{"name", method.name},
                                 {"values", method.values},
                                 {"instructions", method.instructions},
                                 {"delegates", std::move(delegates)}});
  }
  for (const PackedData& data : packed.data) {
    report["data"].push_back({{"key", data.key}, {"bytes", data.bytes}, {"external", data.external}});
  }
  return report;
}

std::string report_text(const PackedProgram& packed, const std::vector<WrittenFile>& files) {
  std::string text;
  for (const WrittenFile& file : files) text += fmt::format("{}: {} bytes\n", printable(file.file), file.bytes);
  for (const PackedMethod& method : packed.methods) {
    text += fmt::format("method {}: {}, {}\n", printable(method.name), count_text(method.instructions, "instruction"),
                        count_text(method.delegates.size(), "delegate"));
  }
  return text;
}

/// What a program is made of is not to be lost for it.
Status check_outputs(const PackOptions& options, const ManifestFiles& files, bool has_data) {
  if (has_data && options.ptd == options.pte) {
    return Error{ErrorCode::InvalidArgument, "program and data file have one name"}.with_file(options.pte);
  }
  const std::string outputs[] = {options.pte, options.ptd};
  for (const std::string& output : std::span{outputs}.first(has_data ? 2 : 1)) {
    std::error_code ignored;  // what is not there is another file
    if (std::filesystem::equivalent(output, options.manifest, ignored) || files.has_read(output)) {
      return Error{ErrorCode::InvalidArgument, "the program is made of this file, and would replace it"}.with_file(
          output);
    }
  }
  return {};
}

Result<ExitCode> run_pack(PackOptions options) {
  TANDEM_TRY(const Manifest manifest, read_manifest(options.manifest));
  ManifestFiles files{std::filesystem::path{options.manifest}.parent_path()};
  TANDEM_TRY(const PackedProgram packed, pack(manifest, files.reader()));
  if (packed.files.ptd.empty() && !options.ptd.empty()) {
    return Error{ErrorCode::InvalidArgument, "--ptd, but no data of the manifest is external"}.with_file(
        options.manifest);
  }
  if (options.ptd.empty()) options.ptd = std::filesystem::path{options.pte}.replace_extension(".ptd").string();
  TANDEM_CHECK_OK(check_outputs(options, files, !packed.files.ptd.empty()));
  TANDEM_TRY(const std::vector<WrittenFile> written, write_files(packed.files, options));
  fmt::print("{}", options.json ? to_text(report_json(options, packed, written)) : report_text(packed, written));
  return ExitCode::Good;
}

constexpr const char* kFooter = R"(Examples:
  tandem pack model.json -o model.pte
  tandem pack model.json -o model.pte --ptd weights.ptd
  tandem check model.pte --data weights.ptd

The manifest is JSON, comments allowed; docs/pack.md describes it. Its files are named relative to its folder. The files
are read back before they take their names; delegates are not loaded, which is what `tandem check` does.

Exit codes: 0 written; 2 usage, an error in the manifest (with line, column and key), or a file that cannot be read or
written.)";

}  // namespace

void add_pack_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PackOptions>();
  CLI::App* pack_app = app.add_subcommand("pack", "Make a program of libraries, engines, weights and operators");
  pack_app->footer(kFooter);
  pack_app->add_option("MANIFEST", options->manifest, "What the program consists of, a JSON file")
      ->type_name("")
      ->required();
  pack_app->add_option("-o,--output", options->pte, "The program to write, a .pte")->type_name("FILE")->required();
  pack_app->add_option("--ptd", options->ptd, "The data file to write; default: the program's name with .ptd")
      ->type_name("FILE");
  pack_app->add_flag("--json", options->json, "Print JSON, see docs/command-line.md");
  pack_app->callback([options, &action] { action = [options] { return run_pack(*options); }; });
}

}  // namespace tandem::cli
