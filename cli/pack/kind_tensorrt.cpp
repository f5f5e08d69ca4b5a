#include "backends/tensorrt/write_blob.h"
#include "cli/pack/delegate_kind.h"

#include <array>
#include <utility>

/// TensorRT engines.
namespace tandem::cli {
namespace {

class TensorRtSource final : public DelegateSource {
 public:
  FileReference engine{};
  tensorrt::Blob contents{};  ///< All but the engine.
  ManifestSpot spot{};

  Result<EncodedDelegate> encode(const ReadFile& files) const override {
    tensorrt::Blob blob = contents;
    TANDEM_TRY(blob.engine, load_bytes(engine, files));
    Result<std::vector<std::byte>> payload = tensorrt::write_blob(blob);
    if (!payload.ok()) return spot.error(payload.error());
    return EncodedDelegate{.payload = *std::move(payload)};
  }
};

Status read_names(const ManifestNode& delegate, std::string_view key, std::vector<std::string>& names) {
  const auto node = delegate.find(key);
  if (!node) return {};
  TANDEM_TRY(const std::vector<ManifestNode> items, node->list("a list of names of bindings"));
  for (const ManifestNode& item : items) {
    TANDEM_TRY(std::string name, item.text());
    names.push_back(std::move(name));
  }
  return {};
}

Result<tensorrt::BlobAlias> read_alias(const ManifestNode& node) {
  static constexpr std::string_view kKeys[] = {"output", "input", "kind"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  tensorrt::BlobAlias alias;
  TANDEM_TRY(const ManifestNode output, node.require("output"));
  TANDEM_TRY(alias.output, output.text());
  TANDEM_TRY(const ManifestNode input, node.require("input"));
  TANDEM_TRY(alias.input, input.text());
  if (const auto kind = node.find("kind")) {
    TANDEM_TRY(const std::string name, kind->text());
    if (name != "kv_cache_update" && name != "user") return kind->unexpected("\"kv_cache_update\" or \"user\"");
    if (name == "user") alias.kind = tensorrt::BlobAlias::Kind::User;
  }
  return alias;
}

Result<std::shared_ptr<const DelegateSource>> read(const ManifestNode& delegate, std::string_view /*backend*/) {
  auto source = std::make_shared<TensorRtSource>();
  source->spot = delegate.spot();
  TANDEM_TRY(const ManifestNode engine, delegate.require("engine"));
  TANDEM_TRY(source->engine, read_file_reference(engine));
  TANDEM_CHECK_OK(read_names(delegate, "inputs", source->contents.inputs));
  TANDEM_CHECK_OK(read_names(delegate, "outputs", source->contents.outputs));
  if (const auto aliases = delegate.find("aliased_io")) {
    TANDEM_TRY(const std::vector<ManifestNode> items, aliases->list());
    for (const ManifestNode& item : items) {
      TANDEM_TRY(tensorrt::BlobAlias alias, read_alias(item));
      source->contents.aliases.push_back(std::move(alias));
    }
  }
  if (const auto node = delegate.find("device_id")) {
    TANDEM_TRY(const std::int64_t id, node->integer(0, 127));
    source->contents.device_id = static_cast<int>(id);
  }
  if (const auto node = delegate.find("hardware_compatible")) {
    TANDEM_TRY(source->contents.hardware_compatible, node->truth());
  }
  // What the names say wrong shows without the engine.
  constexpr std::array<std::byte, 1> kSomeEngine{};
  tensorrt::Blob tried = source->contents;
  tried.engine = kSomeEngine;
  if (const auto blob = tensorrt::write_blob(tried); !blob.ok()) return source->spot.error(blob.error());
  return std::shared_ptr<const DelegateSource>{std::move(source)};
}

}  // namespace

const DelegateKind& tensorrt_kind() noexcept {
  static constexpr std::string_view kBackends[] = {"TensorRTBackend"};
  static constexpr std::string_view kKeys[] = {"engine",     "inputs",    "outputs",
                                               "aliased_io", "device_id", "hardware_compatible"};
  static const DelegateKind kKind{"tensorrt", kBackends, kKeys, read};
  return kKind;
}

}  // namespace tandem::cli
