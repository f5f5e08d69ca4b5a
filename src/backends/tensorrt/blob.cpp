#include "backends/tensorrt/blob.h"

#include "base/checked.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace tandem::tensorrt {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kHeadBytes = 32;
constexpr std::uint64_t kEngineAlignment = 16;

Error malformed(std::string message, std::string field, std::uint64_t offset) {
  return Error{ErrorCode::InvalidProgram, "TensorRT blob: " + std::move(message)}
      .with_field(std::move(field))
      .with_offset(offset);
}

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

struct Sections {
  std::span<const std::byte> metadata{};
  std::uint64_t metadata_offset = 0;
  std::span<const std::byte> engine{};
};

Result<Sections> find_sections(std::span<const std::byte> payload) {
  if (payload.size() < kHeadBytes) {
    return malformed("shorter than its head", "head", payload.size())
        .with_expected("at least 32 bytes", std::to_string(payload.size()));
  }
  const std::string_view magic{reinterpret_cast<const char*>(payload.data()), 4};
  if (magic != "TR01" && magic != "TR02") return malformed("wrong magic", "magic", 0).with_expected("TR01 or TR02", "");
  const std::uint64_t metadata_offset = number_at<std::uint32_t>(payload, 4);
  const std::uint64_t metadata_bytes = number_at<std::uint32_t>(payload, 8);
  const std::uint64_t engine_offset = number_at<std::uint32_t>(payload, 12);
  const auto engine_bytes = number_at<std::uint64_t>(payload, 16);
  const auto in_blob = [&] { return "in " + std::to_string(payload.size()) + " bytes"; };
  const auto range = [](std::uint64_t offset, std::uint64_t bytes) {
    return std::to_string(bytes) + " bytes at " + std::to_string(offset);
  };
  if (metadata_offset < kHeadBytes) {
    return malformed("the metadata overlaps the head", "metadata_offset", 4)
        .with_expected("at least 32", std::to_string(metadata_offset));
  }
  if (!base::fits(metadata_offset, metadata_bytes, payload.size())) {
    return malformed("the metadata goes past the end", "metadata_size", 8)
        .with_expected(in_blob(), range(metadata_offset, metadata_bytes));
  }
  if (engine_offset % kEngineAlignment != 0) {
    return malformed("the engine is not aligned", "engine_offset", 12)
        .with_expected("a multiple of 16", std::to_string(engine_offset));
  }
  if (metadata_offset + metadata_bytes > engine_offset) {  // both within the payload: no overflow
    return malformed("the metadata overlaps the engine", "engine_offset", 12)
        .with_expected("at least " + std::to_string(metadata_offset + metadata_bytes), std::to_string(engine_offset));
  }
  if (!base::fits(engine_offset, engine_bytes, payload.size())) {
    return malformed("the engine goes past the end", "engine_size", 16)
        .with_expected(in_blob(), range(engine_offset, engine_bytes));
  }
  if (engine_bytes == 0) return malformed("there is no engine", "engine_size", 16).with_expected("at least 1", "0");
  return Sections{payload.subspan(metadata_offset, metadata_bytes), metadata_offset,
                  payload.subspan(engine_offset, engine_bytes)};
}

/// Finds where a text stops being JSON, and why; builds nothing.
class FirstFault final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(Json::binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return true; }
  bool key(std::string& /*value*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    position = at;
    reason = error.what();
    return false;
  }

  std::size_t position = 0;
  std::string reason{};
};

/// One value of the metadata, with its path for errors. The parser keeps no positions, so the offset is where the
/// metadata starts.
class Reader {
 public:
  Reader(const Json& value, std::string path, std::uint64_t offset)
      : value_{value}, path_{std::move(path)}, offset_{offset} {}

  [[nodiscard]] Error wrong(std::string message) const { return malformed(std::move(message), path_, offset_); }
  [[nodiscard]] Error wrong_type(const char* expected) const {
    return wrong("a value of the metadata has another type").with_expected(expected, value_.type_name());
  }

  [[nodiscard]] Result<Reader> member(const char* key) const {
    TANDEM_TRY(const Json* const found, find(key));
    if (found == nullptr) return malformed("the metadata lacks a key", path_ + "." + key, offset_);
    return Reader{*found, path_ + "." + key, offset_};
  }
  /// The member, or `otherwise` if there is none.
  template <class T>
  [[nodiscard]] Result<T> optional(const char* key, Result<T> (Reader::*read)() const, T otherwise) const {
    TANDEM_TRY(const Json* const found, find(key));
    if (found == nullptr) return otherwise;
    return (Reader{*found, path_ + "." + key, offset_}.*read)();
  }
  [[nodiscard]] Result<std::string> text() const {
    if (!value_.is_string()) return wrong_type("a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] Result<bool> flag() const {
    if (!value_.is_boolean()) return wrong_type("true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] Result<int> ordinal() const {
    if (!value_.is_number_integer()) return wrong_type("an integer");
    const bool fits = value_.is_number_unsigned() && value_.get<std::uint64_t>() <= INT16_MAX;
    if (!fits) return wrong("no number of a device").with_expected("0 to 32767", value_.dump());
    return value_.get<int>();
  }
  [[nodiscard]] Result<std::vector<Reader>> items() const {
    if (!value_.is_array()) return wrong_type("an array");
    std::vector<Reader> readers;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      readers.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]", offset_);
    }
    return readers;
  }

 private:
  Result<const Json*> find(const char* key) const {
    if (!value_.is_object()) return wrong_type("an object");
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }

  const Json& value_;
  std::string path_;
  std::uint64_t offset_;
};

Status read_bindings(const Reader& root, Blob& blob) {
  TANDEM_TRY(const Reader list, root.member("io_bindings"));
  TANDEM_TRY(const std::vector<Reader> bindings, list.items());
  std::size_t unnamed = 0;
  for (const Reader& binding : bindings) {
    TANDEM_TRY(const Reader name_of, binding.member("name"));
    TANDEM_TRY(std::string name, name_of.text());
    TANDEM_TRY(const Reader is_input_of, binding.member("is_input"));
    TANDEM_TRY(const bool is_input, is_input_of.flag());
    if (name.empty()) {
      ++unnamed;
      continue;
    }
    for (const auto* names : {&blob.inputs, &blob.outputs}) {
      if (std::ranges::find(*names, name) != names->end()) {
        return name_of.wrong("two bindings have one name").with_expected("names that differ", name);
      }
    }
    (is_input ? blob.inputs : blob.outputs).push_back(std::move(name));
  }
  if (unnamed != 0 && unnamed != bindings.size()) return list.wrong("some bindings have a name, some have none");
  return {};
}

Status read_aliases(const Reader& list, Blob& blob) {
  TANDEM_TRY(const std::vector<Reader> aliases, list.items());
  for (const Reader& item : aliases) {
    BlobAlias alias;
    TANDEM_TRY(const Reader output, item.member("output"));
    TANDEM_TRY(alias.output, output.text());
    TANDEM_TRY(const Reader input, item.member("input"));
    TANDEM_TRY(alias.input, input.text());
    TANDEM_TRY(const std::string kind, item.optional<std::string>("kind", &Reader::text, "kv_cache_update"));
    if (kind == "user") {
      alias.kind = BlobAlias::Kind::User;
    } else if (kind != "kv_cache_update") {
      return item.wrong("unknown kind of aliased I/O").with_expected("kv_cache_update or user", kind);
    }
    for (const BlobAlias& other : blob.aliases) {
      if (other.output == alias.output || other.input == alias.input) {
        return item.wrong("a tensor is aliased twice")
            .with_expected("each output and input once", alias.output + " and " + alias.input);
      }
    }
    blob.aliases.push_back(std::move(alias));
  }
  return {};
}

}  // namespace

Result<Blob> parse_blob(std::span<const std::byte> payload) {
  TANDEM_TRY(const Sections sections, find_sections(payload));
  const std::string_view text{reinterpret_cast<const char*>(sections.metadata.data()), sections.metadata.size()};
  const Json metadata = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (metadata.is_discarded()) {
    FirstFault fault;
    static_cast<void>(Json::sax_parse(text, &fault));
    return malformed("the metadata is not JSON: " + fault.reason, "metadata",
                     sections.metadata_offset + std::min(fault.position, text.size()));
  }
  const Reader root{metadata, "metadata", sections.metadata_offset};
  Blob blob;
  blob.engine = sections.engine;
  TANDEM_CHECK_OK(read_bindings(root, blob));
  if (metadata.contains("aliased_io")) {
    TANDEM_TRY(const Reader aliases, root.member("aliased_io"));
    TANDEM_CHECK_OK(read_aliases(aliases, blob));
  }
  TANDEM_TRY(blob.device_id, root.optional<int>("device_id", &Reader::ordinal, 0));
  TANDEM_TRY(blob.hardware_compatible, root.optional<bool>("hardware_compatible", &Reader::flag, false));
  return blob;
}

}  // namespace tandem::tensorrt
