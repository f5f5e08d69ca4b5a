#include "cli/bench/compare_benches.h"

#include "base/mapped_file.h"
#include "cli/bench/report.h"
#include "cli/bench/statistics.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tandem::cli::bench {
namespace {

const Json kNone{};

/// The member, or null.
const Json& member(const Json& object, const std::string& key) {
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

/// At "machine.cpu".
const Json& at(const Json& bench, std::string_view path) {
  const Json* json = &bench;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    json = &member(*json, std::string{path.substr(begin, end - begin)});
    begin = end + 1;
  }
  return *json;
}

std::string shown(const Json& json) { return printable(json.dump(-1, ' ', false, Json::error_handler_t::replace)); }

Error refusal(std::string message, std::string_view field) {
  return Error{ErrorCode::InvalidArgument, std::move(message)}.with_field(std::string{field});
}

/// Sizes alone: the files may lie elsewhere.
Json data_of(const Json& bench) {
  Json sizes = Json::array();
  for (const Json& file : at(bench, "data")) sizes.push_back(member(file, "bytes"));
  return sizes;
}

/// "cuda:1" and "cuda:0" are as good as each other, if they are GPUs of one kind.
Json device_type_of(const Json& bench) {
  const Json& device = at(bench, "device");
  if (!device.is_string()) return device;
  const auto text = device.get<std::string>();
  return text.substr(0, text.find(':'));
}

struct Sameness {
  const char* field;
  const char* message;
};
constexpr Sameness kSame[] = {
    {"program_sha256", "the old numbers are of another program"},
    {"method", "the old numbers are of another method"},
    {"machine.gpu", "the old numbers are of another device"},
    {"machine.cpu", "the old numbers are of another processor"},
    {"inputs", "the old numbers are of other inputs"},
};

Status check_sameness(const Json& old_bench, const Json& new_bench) {
  const auto differ = [](const char* message, const char* field, const Json& before, const Json& now) {
    return refusal(message, field).with_expected(shown(now), shown(before));
  };
  const Json& schema = at(old_bench, "tandem_bench");
  if (schema != kSchema) return differ("no bench of this form", "tandem_bench", schema, kSchema);
  if (device_type_of(old_bench) != device_type_of(new_bench)) {
    return differ("the old numbers are of another device", "device", at(old_bench, "device"), at(new_bench, "device"));
  }
  for (const Sameness& same : kSame) {
    const Json& before = at(old_bench, same.field);
    const Json& now = at(new_bench, same.field);
    if (before != now) return differ(same.message, same.field, before, now);
  }
  if (data_of(old_bench) != data_of(new_bench)) {
    return differ("the old numbers are of a program with other data files", "data", data_of(old_bench),
                  data_of(new_bench));
  }
  if (!at(old_bench, "void").is_null()) return refusal("the old table is void", "void");
  return {};
}

/// Nothing where there is null.
Result<std::optional<double>> number(const Json& object, const std::string& key) {
  const Json& found = member(object, key);
  if (found.is_null()) return std::optional<double>{};
  if (!found.is_number()) return refusal("not a number", key).with_expected("a number", shown(found));
  return std::optional{found.get<double>()};
}

const Json& find_mode(const Json& bench, const Json& name) {
  for (const Json& mode : at(bench, "modes")) {
    if (member(mode, "mode") == name) return mode;
  }
  return kNone;
}

}  // namespace

Result<Json> read_bench(const std::string& file) {
  TANDEM_TRY(const base::MappedFile mapped, base::MappedFile::open(file));
  const auto bytes = mapped.bytes();
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{ErrorCode::InvalidArgument, "no JSON"}.with_file(file).with_offset(error.byte);
  }
}

Result<Json> compare_benches(const Json& old_bench, const Json& new_bench) {
  TANDEM_CHECK_OK(check_sameness(old_bench, new_bench));
  if (!at(old_bench, "modes").is_array()) return refusal("not a list", "modes");
  TANDEM_TRY(const std::optional<double> old_resolution, number(old_bench, "resolution"));
  TANDEM_TRY(const std::optional<double> new_resolution, number(new_bench, "resolution"));
  std::optional<double> resolution;
  if (old_resolution && new_resolution) resolution = *old_resolution + *new_resolution;
  Json modes = Json::array();
  for (const Json& mode : at(new_bench, "modes")) {
    const Json& before = find_mode(old_bench, member(mode, "mode"));
    TANDEM_TRY(const std::optional<double> old_us, number(before, "time_us"));
    TANDEM_TRY(const std::optional<double> new_us, number(mode, "time_us"));
    if (!old_us || !new_us || *old_us <= 0) continue;
    const double ratio = *new_us / *old_us;
    modes.push_back({{"mode", member(mode, "mode")},
                     {"old_us", *old_us},
                     {"new_us", *new_us},
                     {"ratio", ratio},
                     {"same", is_same(ratio, resolution)}});
  }
  return Json{{"old_command", at(old_bench, "command")},
              {"old_version", at(old_bench, "version")},
              {"resolution", resolution ? Json(*resolution) : Json{}},
              {"same_results", at(old_bench, "fingerprint") == at(new_bench, "fingerprint")},
              {"modes", std::move(modes)}};
}

std::string comparison_text(const Json& comparison) {
  using enum Table::Align;
  Table table{{{"mode"}, {"old", Right}, {"new", Right}, {"new/old"}}};
  for (const Json& mode : comparison["modes"]) {
    const auto ratio = mode["ratio"].get<double>();
    table.add({mode["mode"].get<std::string>(), fmt::format("{:.1f}", mode["old_us"].get<double>()),
               fmt::format("{:.1f}", mode["new_us"].get<double>()),
               mode["same"].get<bool>() ? fmt::format("same ({:.2f})", ratio) : fmt::format("{:.2f}", ratio)});
  }
  std::string text = "against the old bench: microseconds that a run takes\n";
  text += table.empty() ? "  no mode is in both\n" : table.to_string(2);
  const Json& resolution = comparison["resolution"];
  text += resolution.is_null() ? "resolution: unknown\n"
                               : fmt::format("resolution of both together: {:.1f} %\n", resolution.get<double>() * 100);
  if (!comparison["same_results"].get<bool>()) text += "the results are others than the old ones\n";
  return text;
}

}  // namespace tandem::cli::bench
