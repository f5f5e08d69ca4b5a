#include "backends/tensorrt/write_blob.h"

#include "base/checked.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tandem::tensorrt {
namespace {

// Parsers of the field look for keys in this order.
using Json = nlohmann::ordered_json;

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kEngineAlignment = 16;

Error not_written(std::string message, std::string field) {
  return Error{ErrorCode::InvalidArgument, "TensorRT blob: " + std::move(message)}.with_field(std::move(field));
}

Status check_names(const Blob& contents) {
  std::set<std::string_view> known;
  for (const auto* list : {&contents.inputs, &contents.outputs}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string field = fmt::format("{}[{}]", list == &contents.inputs ? "inputs" : "outputs", i);
      const std::string& name = (*list)[i];
      if (name.empty()) return not_written("a binding without a name", field);
      if (!known.insert(name).second) return not_written(fmt::format("the binding '{}' is there twice", name), field);
    }
  }
  return {};
}

Status check_aliases(const Blob& contents) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool inferred = contents.inputs.empty() && contents.outputs.empty();  // then the names are the engine's
  std::set<std::string_view> inputs;
  std::set<std::string_view> outputs;
  for (std::size_t i = 0; i < contents.aliases.size(); ++i) {
    const BlobAlias& alias = contents.aliases[i];
    const std::string field = fmt::format("aliased_io[{}]", i);
    if (alias.input.empty() || (!inferred && !has(contents.inputs, alias.input))) {
      return not_written(fmt::format("no input '{}'", alias.input), field + ".input");
    }
    if (alias.output.empty() || (!inferred && !has(contents.outputs, alias.output))) {
      return not_written(fmt::format("no output '{}'", alias.output), field + ".output");
    }
    if (!inputs.insert(alias.input).second) {
      return not_written(fmt::format("the input '{}' is aliased twice", alias.input), field + ".input");
    }
    if (!outputs.insert(alias.output).second) {
      return not_written(fmt::format("the output '{}' is aliased twice", alias.output), field + ".output");
    }
  }
  return {};
}

std::string_view name_of(BlobAlias::Kind kind) { return kind == BlobAlias::Kind::User ? "user" : "kv_cache_update"; }

Json binding(const std::string& name, bool is_input) {
  return {{"name", name}, {"dtype", ""}, {"shape", Json::array()}, {"is_input", is_input}};
}

Result<std::string> metadata_of(const Blob& contents) {
  Json bindings = Json::array();
  for (const std::string& name : contents.inputs) bindings.push_back(binding(name, true));
  for (const std::string& name : contents.outputs) bindings.push_back(binding(name, false));
  Json aliases = Json::array();
  for (const BlobAlias& alias : contents.aliases) {
    aliases.push_back({{"output", alias.output}, {"input", alias.input}, {"kind", name_of(alias.kind)}});
  }
  const Json metadata{{"io_bindings", std::move(bindings)},
                      {"aliased_io", std::move(aliases)},
                      {"hardware_compatible", contents.hardware_compatible},
                      {"device_id", contents.device_id},
                      {"serialized_metadata", ""},  // for tools
                      {"target_platform", ""}};
  try {
    return metadata.dump();
  } catch (const Json::type_error& error) {  // the only one that dump() has: no UTF-8
    return not_written("a text that is no UTF-8", "metadata").with_expected("UTF-8", error.what());
  }
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);  // the format and x86-64 share the byte order
}

}  // namespace

Result<std::vector<std::byte>> write_blob(const Blob& contents) {
  if (contents.engine.empty()) return not_written("an engine of no bytes", "engine");
  if (contents.device_id < 0) {
    return not_written("no device", "device_id").with_expected("0 or more", std::to_string(contents.device_id));
  }
  TANDEM_CHECK_OK(check_names(contents));
  TANDEM_CHECK_OK(check_aliases(contents));
  TANDEM_TRY(const std::string metadata, metadata_of(contents));
  const std::size_t engine_offset = base::align_up(kHeaderBytes + metadata.size(), kEngineAlignment);
  if (engine_offset > UINT32_MAX) return not_written("names of 4 GiB", "metadata");

  std::vector<std::byte> bytes(engine_offset);
  bytes.reserve(engine_offset + contents.engine.size());
  std::memcpy(bytes.data(), contents.aliases.empty() ? "TR01" : "TR02", 4);
  put(bytes, 4, static_cast<std::uint32_t>(kHeaderBytes));
  put(bytes, 8, static_cast<std::uint32_t>(metadata.size()));
  put(bytes, 12, static_cast<std::uint32_t>(engine_offset));
  put(bytes, 16, static_cast<std::uint64_t>(contents.engine.size()));
  put(bytes, 24, std::uint8_t{1});  // as the exporter does; nobody reads it
  std::memcpy(bytes.data() + kHeaderBytes, metadata.data(), metadata.size());
  bytes.insert(bytes.end(), contents.engine.begin(), contents.engine.end());
  return bytes;
}

}  // namespace tandem::tensorrt
