#include "support/fixture_folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace tandem::testing {
namespace {

nlohmann::json read_json(const std::string& path) {
  std::ifstream file{path};
  EXPECT_TRUE(file.good()) << path;
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file.good()) << path;
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

FixtureFolder::FixtureFolder(const std::string& name)
    : folder_{std::string{TANDEM_FIXTURES} + "/" + name + "/"},
      dump_(read_json(folder_ + "dump.json")),
      meta_(read_json(folder_ + "meta.json")) {
  const auto add = [this](const std::string& file, std::size_t base, const nlohmann::json& segments,
                          const nlohmann::json& named_data) {
    auto mapped = base::MappedFile::open(folder_ + file);
    EXPECT_TRUE(mapped.ok()) << file;
    if (!mapped.ok()) return;
    files_.push_back(std::move(*mapped));
    for (const auto& entry : named_data) {
      const auto& segment = segments.at(entry.at("segment_index").get<std::size_t>());
      entries_[entry.at("key").get<std::string>()] =
          files_.back().bytes().subspan(base + segment.at("offset").get<std::size_t>(), segment.at("size"));
    }
  };
  const auto& header = dump_.at("extended_header");
  const auto& program = dump_.at("program");
  if (!program.at("named_data").is_null()) {
    add("program.pte", header.is_null() ? 0 : header.at("segment_base_offset").get<std::size_t>(),
        program.at("segments"), program.at("named_data"));
  }
  for (const auto& [file, data] : dump_.at("data_files").items()) {
    const auto& table = data.at("flat_tensor");
    add(file, data.at("header").at("segment_base_offset"), table.at("segments"), table.at("named_data"));
  }
}

Result<std::span<const std::byte>> FixtureFolder::find(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return Error{ErrorCode::NotFound, "no such key"}.with_key(std::string{key});
  return found->second;
}

void FixtureFolder::replace(const std::string& key, std::vector<std::byte> bytes) {
  own_[key] = std::move(bytes);
  entries_[key] = own_[key];
}

const nlohmann::json& FixtureFolder::plan(std::string_view method) const {
  const auto& plans = dump_.at("program").at("execution_plan");
  for (const auto& plan : plans) {
    if (plan.at("name") == method) return plan;
  }
  ADD_FAILURE() << "no method " << method;
  return plans.at(0);
}

std::vector<std::string> FixtureFolder::payloads(std::string_view method) const {
  std::vector<std::string> list;
  for (const auto& payload : dump_.at("delegate_payloads")) {
    if (payload.at("method") == method) list.push_back(payload.at("payload"));
  }
  return list;
}

std::span<const std::byte> FixtureFolder::library(std::string_view payload) const {
  const auto bytes = find(payload.substr(0, payload.find('\n')));
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : std::span<const std::byte>{};
}

FixtureValue FixtureFolder::read(const nlohmann::json& description) const {
  FixtureValue value;
  const std::string kind = description.at("kind");
  if (kind == "int") {
    value.kind = Argument::Kind::Int;
    value.integer = description.at("value");
  } else if (kind == "float") {
    value.kind = Argument::Kind::Double;
    value.number = description.at("value");
  } else if (kind == "bool") {
    value.kind = Argument::Kind::Bool;
    value.flag = description.at("value");
  } else if (kind == "tensor") {
    value.kind = Argument::Kind::Tensor;
    const auto dtype = scalar_type_from_name(description.at("dtype").get<std::string>());
    EXPECT_TRUE(dtype.has_value());
    value.dtype = dtype.value_or(ScalarType::Float);
    value.sizes = description.at("shape").get<std::vector<std::int64_t>>();
    // Version 1 of the format: magic, version, two bytes of header length, header, elements.
    const std::vector<std::byte> file = read_bytes(folder_ + description.at("file").get<std::string>());
    const std::size_t head =
        10 + std::to_integer<std::size_t>(file.at(8)) + (std::to_integer<std::size_t>(file.at(9)) << 8);
    value.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(head), file.end());
  }
  return value;
}

}  // namespace tandem::testing
