#include "base/sha256.h"
#include "cli/pack/delegate_kind.h"

#include <tandem/custom_payload.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

/// Kernels of the user's own.
namespace tandem::cli {
namespace {

/// Bytes of the manifest, or of a file, which an array gives its elements.
struct UserBlob {
  ArraySource source{};
  std::optional<ManifestArray> array{};
};

class CustomSource final : public DelegateSource {
 public:
  FileReference library{};  ///< Goes into the program. Without a name: `path` is set.
  std::string path{};       ///< Where the library is when the program is loaded.
  UserBlob blob{};

  Result<EncodedDelegate> encode(const ReadFile& files) const override {
    EncodedDelegate out;
    std::string key;
    if (!library.name.empty()) {
      TANDEM_TRY(const std::span<const std::byte> code, load_bytes(library, files));
      TANDEM_TRY(key, base::sha256_hex(code));
      key += ".so";
      out.data.push_back({key, {code.begin(), code.end()}});
    }
    TANDEM_TRY(const std::vector<std::byte> bytes, load_blob(files));
    TANDEM_TRY(out.payload, encode_custom_payload({.key = key, .path = path, .blob = bytes}));
    return out;
  }

 private:
  Result<std::vector<std::byte>> load_blob(const ReadFile& files) const {
    const auto* file = std::get_if<FileReference>(&blob.source);
    if (file == nullptr) return std::get<std::vector<std::byte>>(blob.source);
    if (blob.array) return load_array(*file, *blob.array, files);
    TANDEM_TRY(const std::span<const std::byte> bytes, load_bytes(*file, files));
    return std::vector<std::byte>{bytes.begin(), bytes.end()};
  }
};

/// A text, an object with `file`, or an array.
Result<UserBlob> read_blob(const ManifestNode& node) {
  UserBlob blob;
  if (node.kind() == JsonNode::Kind::Text) {
    TANDEM_TRY(const std::string text, node.text());
    const auto bytes = std::as_bytes(std::span{text});
    blob.source = std::vector<std::byte>{bytes.begin(), bytes.end()};
    return blob;
  }
  if (node.kind() != JsonNode::Kind::Object) {
    return node.unexpected("a text, {\"file\": ...}, or an array (dtype, sizes, constant)");
  }
  if (const auto file = node.find("file")) {
    static constexpr std::string_view kFileKeys[] = {"file"};
    TANDEM_CHECK_OK(node.check_keys(kFileKeys));
    TANDEM_TRY(blob.source, read_file_reference(*file));
    return blob;
  }
  static constexpr std::string_view kKeys[] = {"file", "dtype", "sizes", "dim_order", "constant"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  TANDEM_TRY(blob.array, read_array(node));
  TANDEM_TRY(const ManifestNode constant, node.require("constant"));
  TANDEM_TRY(blob.source, read_array_source(constant, *blob.array));
  return blob;
}

Result<std::shared_ptr<const DelegateSource>> read(const ManifestNode& delegate, std::string_view /*backend*/) {
  auto source = std::make_shared<CustomSource>();
  const auto library = delegate.find("library");
  const auto path = delegate.find("library_path");
  if (library && path) return path->error("library and library_path: a delegate has one library");
  if (library) {
    TANDEM_TRY(source->library, read_file_reference(*library));
  } else if (path) {
    TANDEM_TRY(source->path, path->text());
  } else {
    return delegate.error("the key 'library' or 'library_path' is missing");
  }
  if (const auto blob = delegate.find("user_blob")) {
    TANDEM_TRY(source->blob, read_blob(*blob));
  }
  return std::shared_ptr<const DelegateSource>{std::move(source)};
}

}  // namespace

const DelegateKind& custom_kind() noexcept {
  static constexpr std::string_view kBackends[] = {"CustomBackend"};
  static constexpr std::string_view kKeys[] = {"library", "library_path", "user_blob"};
  static const DelegateKind kKind{"custom", kBackends, kKeys, read};
  return kKind;
}

}  // namespace tandem::cli
