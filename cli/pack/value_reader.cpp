#include "cli/pack/value_reader.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tandem::cli {
namespace {

using Kind = JsonNode::Kind;

constexpr std::string_view kListKeys[] = {"int_list", "double_list", "bool_list", "tensor_list",
                                          "optional_tensor_list"};

bool is_list_node(const ManifestNode& node) {
  if (node.kind() == Kind::List) return true;
  return std::any_of(std::begin(kListKeys), std::end(kListKeys),
                     [&node](std::string_view key) { return node.find(key).has_value(); });
}

Result<ManifestContent> read_double_list(const ManifestNode& node) {
  TANDEM_TRY(const std::vector<ManifestNode> items, node.list());
  std::vector<double> list;
  for (const ManifestNode& item : items) {
    TANDEM_TRY(const double number, item.number());
    list.push_back(number);
  }
  return ManifestContent{std::move(list)};
}

Result<ManifestContent> read_bool_list(const ManifestNode& node) {
  TANDEM_TRY(const std::vector<ManifestNode> items, node.list());
  std::vector<bool> list;
  for (const ManifestNode& item : items) {
    TANDEM_TRY(const bool flag, item.truth());
    list.push_back(flag);
  }
  return ManifestContent{std::move(list)};
}

}  // namespace

Status ValueReader::read_named(const ManifestNode& values) {
  TANDEM_TRY(const std::vector<ManifestNode> nodes, values.members());
  for (const ManifestNode& node : nodes) names_.emplace(node.json().key, add_value(node, {}, node.json().key));
  // Lists may name what stands behind them, so the others are read before.
  for (const bool lists : {false, true}) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (is_list_node(nodes[i]) != lists) continue;
      if (nodes[i].kind() == Kind::Text) return nodes[i].unexpected("a value; a text is {\"string\": ...}");
      TANDEM_TRY(ManifestContent content, read_content(nodes[i]));
      values_[i].content = std::move(content);
    }
  }
  return {};
}

Result<ManifestArg> ValueReader::find(const ManifestNode& node) const {
  TANDEM_TRY(const std::size_t value, look_up(node, "value", names_));
  return ManifestArg{node.spot(), value};
}

Result<ManifestArg> ValueReader::read_arg(const ManifestNode& node) {
  if (node.kind() == Kind::Text) return find(node);
  if (node.find("dtype")) return node.error("a tensor among arguments; it needs a name under 'values'");
  TANDEM_TRY(ManifestContent content, read_content(node));
  return ManifestArg{node.spot(), add_value(node, std::move(content))};
}

bool ValueReader::is_list(const ManifestArg& arg) const {
  return is<ManifestIntList>(arg) || is<std::vector<double>>(arg) || is<std::vector<bool>>(arg) ||
         is<ManifestTensorList>(arg);
}

bool ValueReader::is_constant(const ManifestArg& arg) const {
  const auto* tensor = std::get_if<ManifestTensor>(&values_[arg.value].content);
  return tensor != nullptr && tensor->role == ManifestTensor::Role::Constant;
}

bool ValueReader::is_condition(const ManifestArg& arg) const {
  const auto* tensor = std::get_if<ManifestTensor>(&values_[arg.value].content);
  return is<bool>(arg) || (tensor != nullptr && tensor->array.dtype == ScalarType::Bool);
}

std::size_t ValueReader::add_value(const ManifestNode& node, ManifestContent content, std::string name) {
  values_.push_back({std::move(name), node.spot(), std::move(content)});
  return values_.size() - 1;
}

Result<ManifestContent> ValueReader::read_content(const ManifestNode& node) {
  switch (node.kind()) {
    case Kind::Null:
      return ManifestContent{};
    case Kind::Bool:
      return ManifestContent{std::get<bool>(node.json().scalar)};
    case Kind::Int:
      return ManifestContent{std::get<std::int64_t>(node.json().scalar)};
    case Kind::Double:
      return ManifestContent{std::get<double>(node.json().scalar)};
    case Kind::List:
      return read_plain_list(node);
    case Kind::Text:
      break;
    case Kind::Object:
      return node.find("dtype") ? read_tensor(node) : read_one_key(node);
  }
  return node.unexpected("a value");
}

/// {"int": 1}, {"tensor_list": ["a", "b"]}.
Result<ManifestContent> ValueReader::read_one_key(const ManifestNode& node) {
  static constexpr std::string_view kKeys[] = {"int",       "double",      "bool",
                                               "string",    "int_list",    "double_list",
                                               "bool_list", "tensor_list", "optional_tensor_list",
                                               "dtype",     "sizes",       "dim_order",
                                               "dynamic",   "device",      "constant",
                                               "mutable",   "initial",     "name",
                                               "shared"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  TANDEM_TRY(const std::vector<ManifestNode> members, node.members());
  const auto tensor_keys = std::find(std::begin(kKeys), std::end(kKeys), "dtype");
  if (members.size() != 1 || std::find(tensor_keys, std::end(kKeys), members[0].json().key) != std::end(kKeys)) {
    return node.error("neither a tensor nor one value")
        .with_expected(fmt::format("dtype and sizes, or one of {}", fmt::join(std::begin(kKeys), tensor_keys, ", ")),
                       fmt::format("{}", count_text(members.size(), "key")));
  }
  const ManifestNode& value = members[0];
  const std::string& key = value.json().key;
  if (key == "int") {
    TANDEM_TRY(const std::int64_t number, value.integer(INT64_MIN, INT64_MAX));
    return ManifestContent{number};
  }
  if (key == "double") {
    TANDEM_TRY(const double number, value.number());
    return ManifestContent{number};
  }
  if (key == "bool") {
    TANDEM_TRY(const bool flag, value.truth());
    return ManifestContent{flag};
  }
  if (key == "string") {
    if (value.kind() != Kind::Text) return value.unexpected("a text");
    return ManifestContent{std::get<std::string>(value.json().scalar)};
  }
  if (key == "int_list") return read_int_list(value);
  if (key == "double_list") return read_double_list(value);
  if (key == "bool_list") return read_bool_list(value);
  return read_tensor_list(value, key == "optional_tensor_list");
}

/// A list tells its kind by what is in it.
Result<ManifestContent> ValueReader::read_plain_list(const ManifestNode& node) {
  const std::vector<JsonNode>& items = node.json().items;
  const auto any = [&items](Kind kind) {
    return std::any_of(items.begin(), items.end(), [kind](const JsonNode& item) { return item.kind == kind; });
  };
  if (any(Kind::Bool)) return read_bool_list(node);
  if (any(Kind::Double)) return read_double_list(node);
  if (any(Kind::Null)) return read_tensor_list(node, /*optional=*/true);
  if (!items.empty() && items.front().kind == Kind::Text) {
    const auto first = names_.find(std::get<std::string>(items.front().scalar));
    const bool tensors =
        first != names_.end() && std::holds_alternative<ManifestTensor>(values_[first->second].content);
    if (tensors) return read_tensor_list(node, /*optional=*/false);
  }
  return read_int_list(node);
}

Result<ManifestContent> ValueReader::read_int_list(const ManifestNode& node) {
  TANDEM_TRY(const std::vector<ManifestNode> items, node.list());
  ManifestIntList list;
  for (const ManifestNode& item : items) {
    if (item.kind() == Kind::Text) {
      TANDEM_TRY(const ManifestArg number, find(item));
      if (!is<std::int64_t>(number)) return item.error("an item of a list of whole numbers is none");
      list.items.push_back(number.value);
    } else {
      TANDEM_TRY(const std::int64_t number, item.integer(INT64_MIN, INT64_MAX));
      list.items.push_back(add_value(item, number));
    }
  }
  return ManifestContent{std::move(list)};
}

Result<ManifestContent> ValueReader::read_tensor_list(const ManifestNode& node, bool optional) const {
  TANDEM_TRY(const std::vector<ManifestNode> items, node.list());
  ManifestTensorList list{.optional = optional};
  for (const ManifestNode& item : items) {
    if (optional && item.kind() == Kind::Null) {
      list.items.emplace_back();
      continue;
    }
    TANDEM_TRY(const ManifestArg tensor, find(item));
    if (!is<ManifestTensor>(tensor)) return item.error("an item of a list of tensors is none");
    list.items.emplace_back(tensor.value);
  }
  return ManifestContent{std::move(list)};
}

Result<ManifestContent> ValueReader::read_tensor(const ManifestNode& node) const {
  static constexpr std::string_view kKeys[] = {"dtype",    "sizes",   "dim_order", "dynamic", "device",
                                               "constant", "mutable", "initial",   "name",    "shared"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  ManifestTensor tensor;
  TANDEM_TRY(tensor.array, read_array(node));
  if (const auto dynamic = node.find("dynamic")) {
    TANDEM_TRY(tensor.dynamic, dynamic->truth());
  }
  if (const auto device = node.find("device")) {
    TANDEM_TRY(const std::string name, device->text());
    const Result<DeviceId> id = parse_device(name);
    if (!id.ok() || id->type == DeviceType::Hip) return device->unexpected("\"cpu\", \"cuda\" or \"cuda:N\"");
    tensor.device = *id;
  }
  if (const auto flag = node.find("mutable")) {
    TANDEM_TRY(const bool is_mutable, flag->truth());
    if (is_mutable) tensor.role = ManifestTensor::Role::Mutable;
  }
  if (const auto constant = node.find("constant")) {
    if (tensor.role == ManifestTensor::Role::Mutable) {
      return constant->error("a mutable tensor is no constant; its first contents are 'initial'");
    }
    tensor.role = ManifestTensor::Role::Constant;
    TANDEM_TRY(tensor.contents, read_contents(*constant, tensor.array));
  }
  TANDEM_CHECK_OK(read_mutable(node, tensor));
  return ManifestContent{std::move(tensor)};
}

Status ValueReader::read_mutable(const ManifestNode& node, ManifestTensor& tensor) const {
  const bool is_mutable = tensor.role == ManifestTensor::Role::Mutable;
  for (const std::string_view key : {"initial", "name", "shared"}) {
    if (const auto member = node.find(key); member && !is_mutable) {
      return member->error(fmt::format("'{}' is for mutable tensors", key));
    }
  }
  if (!is_mutable) return {};
  tensor.name = node.json().key;
  if (const auto name = node.find("name")) {
    TANDEM_TRY(tensor.name, name->text());
  }
  if (const auto shared = node.find("shared")) {
    TANDEM_TRY(tensor.shared, shared->truth());
    if (tensor.shared && tensor.device != DeviceId{}) {
      return shared->error("a tensor that methods share lives on the host")
          .with_expected("device cpu", to_string(tensor.device));
    }
  }
  if (const auto initial = node.find("initial")) {
    TANDEM_TRY(tensor.contents, read_contents(*initial, tensor.array));
    if (const auto* data = std::get_if<std::size_t>(&tensor.contents)) {
      const std::string& key = data_[*data].key;
      if (node.find("name") && tensor.name != key) {
        return initial->error("a tensor that starts with external data has the data's key as its name")
            .with_expected(printable(key), printable(tensor.name));
      }
      tensor.name = key;
    }
  }
  return {};
}

Result<ManifestContents> ValueReader::read_contents(const ManifestNode& node, const ManifestArray& array) const {
  if (const auto key = node.find("data")) {
    static constexpr std::string_view kKeys[] = {"data"};
    TANDEM_CHECK_OK(node.check_keys(kKeys));
    TANDEM_TRY(const std::size_t data, look_up(*key, "data", data_names_));
    if (data_[data].external) return ManifestContents{data};
    return key->error("tensors take only external data; others name a file");
  }
  TANDEM_TRY(ArraySource source, read_array_source(node, array));
  return std::visit([](auto& found) { return ManifestContents{std::move(found)}; }, source);
}

}  // namespace tandem::cli
