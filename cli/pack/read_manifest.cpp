#include "cli/pack/manifest.h"

#include "cli/pack/names.h"
#include "cli/pack/step_reader.h"
#include "cli/pack/value_reader.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace tandem::cli {
namespace {

Result<const DelegateKind*> find_kind(const ManifestNode& delegate, const std::string& backend) {
  const std::span<const DelegateKind> kinds = delegate_kinds();
  if (const auto node = delegate.find("kind")) {
    TANDEM_TRY(const std::string name, node->text());
    std::string known;
    for (const DelegateKind& kind : kinds) {
      if (kind.name == name) return &kind;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
    }
    return node->unexpected("one of " + known);
  }
  for (const DelegateKind& kind : kinds) {
    if (std::find(kind.backends.begin(), kind.backends.end(), backend) != kind.backends.end()) return &kind;
  }
  return &kinds.back();
}

/// Keys of all kinds and of this one.
Status check_keys(const ManifestNode& delegate, const ManifestNode& backend, const DelegateKind& kind) {
  std::vector<std::string_view> keys{"backend", "kind", "inline", "compile_specs"};
  keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
  Status checked = delegate.check_keys(keys);
  if (checked.ok() || !kind.backends.empty() || delegate.find("kind")) return checked;
  // The keys of a backend whose id is not written right.
  std::vector<std::string_view> ids;
  for (const DelegateKind& other : delegate_kinds()) {
    ids.insert(ids.end(), other.backends.begin(), other.backends.end());
  }
  TANDEM_TRY(const std::string id, backend.text());
  const std::string nearest = nearest_text(id, ids);
  if (nearest.empty()) return checked;
  return backend.error(fmt::format("no keys are known of the backend '{}'{}", printable(id), nearest));
}

Result<ManifestDelegate> read_delegate(const ManifestNode& node) {
  if (node.kind() != JsonNode::Kind::Object) return node.unexpected("an object");
  ManifestDelegate delegate{.name = node.json().key, .spot = node.spot()};
  TANDEM_TRY(const ManifestNode backend, node.require("backend"));
  TANDEM_TRY(delegate.backend, backend.text());
  TANDEM_TRY(const DelegateKind* const kind, find_kind(node, delegate.backend));
  delegate.kind = kind->name;
  TANDEM_CHECK_OK(check_keys(node, backend, *kind));
  if (const auto flag = node.find("inline")) {
    TANDEM_TRY(delegate.inline_payload, flag->truth());
  }
  if (const auto specs = node.find("compile_specs")) {
    TANDEM_TRY(const std::vector<ManifestNode> members, specs->members());
    for (const ManifestNode& member : members) {
      if (member.kind() != JsonNode::Kind::Text) return member.unexpected("a text");
      delegate.compile_specs.emplace_back(member.json().key, std::get<std::string>(member.json().scalar));
    }
  }
  TANDEM_TRY(delegate.source, kind->read(node, delegate.backend));
  return delegate;
}

Result<std::vector<ManifestArg>> read_interface(const ManifestNode& method, std::string_view key,
                                                const ValueReader& values) {
  std::vector<ManifestArg> args;
  const auto node = method.find(key);
  if (!node) return args;
  TANDEM_TRY(const std::vector<ManifestNode> items, node->list("a list of names"));
  for (const ManifestNode& item : items) {
    TANDEM_TRY(ManifestArg arg, values.find(item));
    if (values.is_list(arg)) return item.error("a list is neither input nor output");
    args.push_back(std::move(arg));
  }
  return args;
}

Status check_inputs(const std::vector<ManifestArg>& inputs, const ValueReader& values) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (values.is_constant(inputs[i]))
      return inputs[i].spot.error(ErrorCode::InvalidArgument, "an input is a constant");
    for (std::size_t k = 0; k < i; ++k) {
      if (inputs[k].value != inputs[i].value) continue;
      return inputs[i].spot.error(ErrorCode::InvalidArgument, "a value is two inputs");
    }
  }
  return {};
}

Result<ManifestMethod> read_method(const ManifestNode& node, const std::vector<ManifestData>& data,
                                   const Names& data_names) {
  static constexpr std::string_view kKeys[] = {"name", "values", "delegates", "inputs", "outputs", "steps"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  ManifestMethod method{.spot = node.spot()};
  TANDEM_TRY(const ManifestNode name, node.require("name"));
  TANDEM_TRY(method.name, name.text());
  ValueReader values{data, data_names};
  if (const auto named = node.find("values")) TANDEM_CHECK_OK(values.read_named(*named));
  Names delegate_names;
  if (const auto delegates = node.find("delegates")) {
    TANDEM_TRY(const std::vector<ManifestNode> nodes, delegates->members());
    for (const ManifestNode& delegate : nodes) {
      TANDEM_TRY(ManifestDelegate read, read_delegate(delegate));
      delegate_names.emplace(read.name, method.delegates.size());
      method.delegates.push_back(std::move(read));
    }
  }
  TANDEM_TRY(method.inputs, read_interface(node, "inputs", values));
  TANDEM_CHECK_OK(check_inputs(method.inputs, values));
  TANDEM_TRY(method.outputs, read_interface(node, "outputs", values));
  if (const auto steps = node.find("steps")) {
    StepReader reader{values, delegate_names};
    TANDEM_TRY(method.steps, reader.read(*steps));
    method.label_count = reader.label_count();
  }
  method.values = values.take();
  return method;
}

Status check_version(const ManifestNode& version) {
  TANDEM_TRY([[maybe_unused]] const std::int64_t known, version.integer(1, 1));
  return {};
}

Result<ManifestData> read_data(const ManifestNode& node) {
  static constexpr std::string_view kKeys[] = {"file", "alignment", "external"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  ManifestData data{.key = node.json().key, .spot = node.spot()};
  TANDEM_TRY(const ManifestNode file, node.require("file"));
  TANDEM_TRY(data.file, read_file_reference(file));
  if (const auto alignment = node.find("alignment")) {
    TANDEM_TRY(const std::int64_t bytes, alignment->integer(1, 1 << 30));
    if (!std::has_single_bit(static_cast<std::uint64_t>(bytes))) return alignment->unexpected("a power of two");
    data.alignment = static_cast<std::uint64_t>(bytes);
  }
  if (const auto external = node.find("external")) {
    TANDEM_TRY(data.external, external->truth());
  }
  return data;
}

bool are_same(const ManifestContents& a, const ManifestContents& b) {
  if (a.index() != b.index()) return false;
  if (const auto* file = std::get_if<FileReference>(&a)) return file->name == std::get<FileReference>(b).name;
  if (const auto* data = std::get_if<std::size_t>(&a)) return *data == std::get<std::size_t>(b);
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&a)) return *bytes == std::get<std::vector<std::byte>>(b);
  return true;
}

/// Tensors that methods share are one: the same in each of them.
Status check_shared(const Manifest& manifest) {
  std::map<std::string_view, const ManifestValue*> known;
  for (const ManifestMethod& method : manifest.methods) {
    std::map<std::string_view, const ManifestValue*> here;
    for (const ManifestValue& value : method.values) {
      const auto* tensor = std::get_if<ManifestTensor>(&value.content);
      if (tensor == nullptr || tensor->role != ManifestTensor::Role::Mutable) continue;
      if (!here.emplace(tensor->name, &value).second) {
        return value.spot.error(ErrorCode::InvalidArgument,
                                fmt::format("two mutable tensors of the name '{}'", printable(tensor->name)));
      }
      if (!tensor->shared) continue;
      const auto [at, added] = known.emplace(tensor->name, &value);
      const auto& first = std::get<ManifestTensor>(at->second->content);
      if (!are_same(first.contents, tensor->contents)) {
        return value.spot.error(ErrorCode::InvalidArgument,
                                fmt::format("the shared tensor '{}' has other initial contents than {}",
                                            printable(tensor->name), at->second->spot.key));
      }
      if (first.array.bytes == tensor->array.bytes && first.array.dtype == tensor->array.dtype) continue;
      return value.spot
          .error(ErrorCode::InvalidArgument,
                 fmt::format("the shared tensor '{}' differs from {}", printable(tensor->name), at->second->spot.key))
          .with_expected(fmt::format("{} {}", name_of(first.array.dtype), shape_text(first.array.sizes)),
                         fmt::format("{} {}", name_of(tensor->array.dtype), shape_text(tensor->array.sizes)));
    }
  }
  return {};
}

Result<Manifest> read_root(const ManifestNode& root) {
  static constexpr std::string_view kKeys[] = {"tandem_pack", "data", "methods"};
  TANDEM_CHECK_OK(root.check_keys(kKeys));
  TANDEM_TRY(const ManifestNode version, root.require("tandem_pack"));
  TANDEM_CHECK_OK(check_version(version));
  Manifest manifest;
  Names data_names;
  if (const auto data = root.find("data")) {
    TANDEM_TRY(const std::vector<ManifestNode> nodes, data->members());
    for (const ManifestNode& node : nodes) {
      TANDEM_TRY(ManifestData entry, read_data(node));
      data_names.emplace(entry.key, manifest.data.size());
      manifest.data.push_back(std::move(entry));
    }
  }
  TANDEM_TRY(const ManifestNode methods, root.require("methods"));
  TANDEM_TRY(const std::vector<ManifestNode> nodes, methods.list("a list of methods"));
  if (nodes.empty()) return methods.error("no methods");
  for (const ManifestNode& node : nodes) {
    TANDEM_TRY(ManifestMethod method, read_method(node, manifest.data, data_names));
    const bool twice = std::any_of(manifest.methods.begin(), manifest.methods.end(),
                                   [&method](const ManifestMethod& other) { return other.name == method.name; });
    if (twice) return node.error(fmt::format("the method '{}' is here twice", printable(method.name)));
    manifest.methods.push_back(std::move(method));
  }
  TANDEM_CHECK_OK(check_shared(manifest));
  return manifest;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, const std::string& file) {
  TANDEM_TRY(const JsonNode tree, parse_json_tree(text, file));
  return read_root(ManifestNode{tree, file});
}

}  // namespace tandem::cli
