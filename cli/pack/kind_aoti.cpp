#include "backends/aoti/write_payload.h"
#include "base/sha256.h"
#include "cli/pack/delegate_kind.h"

#include <tandem/tensor.h>

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

/// AOTInductor libraries with their weights.
namespace tandem::cli {
namespace {

/// What vector code likes, and enough for constants to be used where they lie.
constexpr std::uint64_t kWeightAlignment = 64;

struct NamedArray {
  std::string name{};
  ManifestArray array{};
  ArraySource source{};
};

class AotiSource final : public DelegateSource {
 public:
  FileReference library{};
  std::variant<std::vector<NamedArray>, FileReference> weights{};  ///< One by one, or a blob.
  bool external = false;
  std::int32_t device = aoti::kCpuDevice;

  Result<EncodedDelegate> encode(const ReadFile& files) const override {
    EncodedDelegate out;
    TANDEM_TRY(const std::span<const std::byte> code, load_bytes(library, files));
    TANDEM_TRY(const std::string digest, base::sha256_hex(code));
    const std::string library_key = digest + "_so_blob";
    out.data.push_back({library_key, {code.begin(), code.end()}});
    if (const auto* blob = std::get_if<FileReference>(&weights)) {
      TANDEM_TRY(const std::span<const std::byte> bytes, load_bytes(*blob, files));
      TANDEM_TRY(const std::string blob_digest, base::sha256_hex(bytes));
      const std::string weights_key = blob_digest + "_weights_blob";
      out.data.push_back({weights_key, {bytes.begin(), bytes.end()}, 1, external});
      TANDEM_TRY(out.payload, aoti::write_payload({{library_key}, aoti::Keys{weights_key}}));
      return out;
    }
    std::vector<aoti::ConstantEntry> entries;
    for (const NamedArray& weight : std::get<std::vector<NamedArray>>(weights)) {
      TANDEM_TRY(EncodedData data, encode(weight, files));
      entries.push_back({.fqn = weight.name,
                         .storage_key = data.key,
                         .storage_bytes = data.bytes.size(),
                         .dtype = weight.array.dtype,
                         .device_type = device,
                         .sizes = weight.array.sizes,
                         .strides = strides_of(weight.array)});
      out.data.push_back(std::move(data));
    }
    TANDEM_TRY(out.payload, aoti::write_payload({{library_key}, std::move(entries)}));
    return out;
  }

 private:
  Result<EncodedData> encode(const NamedArray& weight, const ReadFile& files) const {
    EncodedData data{.alignment = kWeightAlignment, .external = external};
    if (const auto* file = std::get_if<FileReference>(&weight.source)) {
      TANDEM_TRY(data.bytes, load_array(*file, weight.array, files));
    } else {
      data.bytes = std::get<std::vector<std::byte>>(weight.source);
    }
    // Two delegates may have constants of one name: the digest tells whether they are the same.
    TANDEM_TRY(const std::string digest, base::sha256_hex(data.bytes));
    data.key =
        fmt::format("cuda_fqn_weight:{}:{}:{}", device == aoti::kCudaDevice ? "cuda" : "cpu", digest, weight.name);
    return data;
  }

  static std::vector<std::int64_t> strides_of(const ManifestArray& array) {
    std::vector<std::int64_t> strides(array.sizes.size());
    std::int64_t next = 1;
    for (auto axis = array.dim_order.rbegin(); axis != array.dim_order.rend(); ++axis) {
      strides[*axis] = next;
      if (array.sizes[*axis] != 0) next *= array.sizes[*axis];
    }
    return strides;
  }
};

Result<NamedArray> read_weight(const ManifestNode& node) {
  static constexpr std::string_view kKeys[] = {"dtype", "sizes", "dim_order", "constant"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  NamedArray weight{.name = node.json().key};
  TANDEM_TRY(weight.array, read_array(node));
  TANDEM_TRY(const ManifestNode constant, node.require("constant"));
  TANDEM_TRY(weight.source, read_array_source(constant, weight.array));
  return weight;
}

Result<std::shared_ptr<const DelegateSource>> read(const ManifestNode& delegate, std::string_view backend) {
  auto source = std::make_shared<AotiSource>();
  TANDEM_TRY(const ManifestNode library, delegate.require("library"));
  TANDEM_TRY(source->library, read_file_reference(library));
  source->device = backend == "CudaBackend" ? aoti::kCudaDevice : aoti::kCpuDevice;
  if (const auto node = delegate.find("weights_device")) {
    TANDEM_TRY(const std::string name, node->text());
    if (name != "cpu" && name != "cuda") return node->unexpected("\"cpu\" or \"cuda\"");
    source->device = name == "cuda" ? aoti::kCudaDevice : aoti::kCpuDevice;
  }
  if (const auto node = delegate.find("external")) {
    TANDEM_TRY(source->external, node->truth());
  }
  const auto weights = delegate.find("weights");
  if (weights && weights->kind() == JsonNode::Kind::Text) {
    TANDEM_TRY(source->weights, read_file_reference(*weights));
  } else if (weights) {
    if (weights->kind() != JsonNode::Kind::Object) {
      return weights->unexpected("a file (one blob), or an object with an array for each name");
    }
    TANDEM_TRY(const std::vector<ManifestNode> nodes, weights->members());
    std::vector<NamedArray> arrays;
    for (const ManifestNode& node : nodes) {
      TANDEM_TRY(NamedArray array, read_weight(node));
      arrays.push_back(std::move(array));
    }
    source->weights = std::move(arrays);
  }
  return std::shared_ptr<const DelegateSource>{std::move(source)};
}

}  // namespace

const DelegateKind& aoti_kind() noexcept {
  static constexpr std::string_view kBackends[] = {"AotiHostBackend", "AotiHostBackendB", "CudaBackend"};
  static constexpr std::string_view kKeys[] = {"library", "weights", "weights_device", "external"};
  static const DelegateKind kKind{"aoti", kBackends, kKeys, read};
  return kKind;
}

}  // namespace tandem::cli
