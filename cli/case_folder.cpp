#include "cli/case_folder.h"

#include "base/mapped_file.h"
#include "cli/json.h"
#include "cli/npy.h"
#include "cli/strided.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

namespace tandem::cli {
namespace {

/// A place in meta.json with its name, so that every error can tell it.
struct Node {
  const Json* json;
  std::string field;
};

Error bad_field(const std::string& field, std::string expected, std::string found) {
  return Error{ErrorCode::InvalidArgument, "malformed meta.json"}
      .with_expected(std::move(expected), std::move(found))
      .with_field(printable(field));
}
Error bad_field(const Node& node, std::string expected) {
  // Lists and objects are only named: dump() recurses, and a hostile file may nest deeply.
  if (node.json->is_structured()) {
    return bad_field(node.field, std::move(expected), node.json->is_array() ? "a list" : "an object");
  }
  constexpr std::size_t kShown = 60;
  std::string found = node.json->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > kShown) found = found.substr(0, kShown) + "...";
  return bad_field(node.field, std::move(expected), printable(found));
}

std::optional<Node> optional_member(const Node& object, const std::string& key) {
  const auto found = object.json->find(key);
  if (found == object.json->end() || found->is_null()) return std::nullopt;
  return Node{&*found, object.field.empty() ? key : object.field + "." + key};
}
Result<Node> member(const Node& object, const std::string& key) {
  if (!object.json->is_object()) return bad_field(object, "an object");
  if (std::optional<Node> found = optional_member(object, key)) return *std::move(found);
  return bad_field(object.field.empty() ? key : object.field + "." + key, "a value", "nothing");
}

Result<std::string> text_of(const Node& node) {
  if (!node.json->is_string()) return bad_field(node, "a text");
  return node.json->get<std::string>();
}
Result<bool> truth_of(const Node& node) {
  if (!node.json->is_boolean()) return bad_field(node, "true or false");
  return node.json->get<bool>();
}
Result<std::int64_t> integer_of(const Node& node, std::int64_t low, std::int64_t high) {
  const bool fits = node.json->is_number_integer() &&
                    (!node.json->is_number_unsigned() || node.json->get<std::uint64_t>() <= INT64_MAX);
  const std::int64_t number = fits ? node.json->get<std::int64_t>() : 0;
  if (!fits || number < low || number > high) return bad_field(node, fmt::format("a whole number {}..{}", low, high));
  return number;
}
/// A number, or one of the texts that number_json() writes.
Result<double> number_of(const Node& node) {
  if (node.json->is_number()) return node.json->get<double>();
  if (*node.json == "inf") return std::numeric_limits<double>::infinity();
  if (*node.json == "-inf") return -std::numeric_limits<double>::infinity();
  if (*node.json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return bad_field(node, "a number, \"inf\", \"-inf\" or \"nan\"");
}
Result<double> tolerance_of(const Node& node) {
  TANDEM_TRY(const double number, number_of(node));
  if (!(number >= 0)) return bad_field(node, "a number of at least 0");
  return number;
}

/// `read` over the entries of a list.
template <class Read>
auto list_of(const Node& node, const Read& read) -> Result<std::vector<typename decltype(read(node))::Value>> {
  if (!node.json->is_array()) return bad_field(node, "a list");
  std::vector<typename decltype(read(node))::Value> list;
  for (std::size_t i = 0; i < node.json->size(); ++i) {
    TANDEM_TRY(auto item, read(Node{&(*node.json)[i], fmt::format("{}[{}]", node.field, i)}));
    list.push_back(std::move(item));
  }
  return list;
}

/// A file of this folder. A case folder comes from somebody else, so its names must not reach outside.
Result<std::string> file_name_of(const Node& node) {
  TANDEM_TRY(std::string name, text_of(node));
  const std::filesystem::path path{name};
  const bool leaves = std::find(path.begin(), path.end(), "..") != path.end();
  if (name.empty() || path.is_absolute() || leaves || name.find('\0') != std::string::npos) {
    return bad_field(node, "a file name within the folder");
  }
  return name;
}

Result<std::vector<std::uint8_t>> dim_order_of(const std::optional<Node>& node, std::size_t rank) {
  std::vector<std::uint8_t> identity(rank);
  std::iota(identity.begin(), identity.end(), std::uint8_t{0});
  if (!node) return identity;
  TANDEM_TRY(const std::vector<std::int64_t> axes,
             list_of(*node, [](const Node& item) { return integer_of(item, 0, kMaxRank - 1); }));
  std::vector<std::uint8_t> order(axes.begin(), axes.end());
  if (!std::is_permutation(order.begin(), order.end(), identity.begin(), identity.end())) {
    return bad_field(*node, fmt::format("a permutation of 0..{}", static_cast<std::int64_t>(rank) - 1));
  }
  return order;
}

Result<CaseValue> tensor_of(const Node& node, CaseValue value) {
  TANDEM_TRY(const Node file, member(node, "file"));
  TANDEM_TRY(value.file, file_name_of(file));
  TANDEM_TRY(const Node dtype, member(node, "dtype"));
  TANDEM_TRY(const std::string dtype_name, text_of(dtype));
  const std::optional<ScalarType> known = scalar_type_from_name(dtype_name);
  if (!known) return bad_field(dtype, "the name of a dtype, for example \"float32\"");
  value.dtype = *known;
  TANDEM_TRY(const Node shape, member(node, "shape"));
  TANDEM_TRY(value.shape, list_of(shape, [](const Node& item) { return integer_of(item, 0, INT64_MAX); }));
  if (value.shape.size() > kMaxRank) return bad_field(shape, fmt::format("at most {} sizes", kMaxRank));
  TANDEM_TRY(value.dim_order, dim_order_of(optional_member(node, "dim_order"), value.shape.size()));
  value.value = Tensor{};
  return value;
}

Result<CaseValue> value_of(const Node& node) {
  CaseValue value;
  value.field = node.field;
  TANDEM_TRY(const Node kind, member(node, "kind"));
  TANDEM_TRY(const std::string name, text_of(kind));
  if (name == "none") return value;
  if (name == "tensor") return tensor_of(node, std::move(value));
  TANDEM_TRY(const Node content, member(node, "value"));
  if (name == "int") {
    TANDEM_TRY(value.value, integer_of(content, INT64_MIN, INT64_MAX));
  } else if (name == "double") {
    TANDEM_TRY(value.value, number_of(content));
  } else if (name == "bool") {
    TANDEM_TRY(value.value, truth_of(content));
  } else if (name == "string") {
    TANDEM_TRY(value.value, text_of(content));
  } else {
    return bad_field(kind, "tensor, int, double, bool, string or none");
  }
  return value;
}

Result<std::vector<CaseValue>> values_of(const Node& parent, const std::string& key) {
  TANDEM_TRY(const Node node, member(parent, key));
  return list_of(node, value_of);
}

/// With `repeat` the first axis of every tensor counts the calls, and must be the outermost one in memory too.
Status check_repeat(std::span<const CaseValue> values, std::int64_t repeat) {
  for (const CaseValue& value : values) {
    if (!value.value.is_tensor()) continue;
    if (value.shape.empty() || value.shape[0] != repeat) {
      return bad_field(value.field + ".shape", fmt::format("a first size of {} (repeat)", repeat),
                       shape_text(value.shape));
    }
    if (value.dim_order[0] != 0) {
      return bad_field(value.field + ".dim_order", "0 first (repeat)", std::to_string(value.dim_order[0]));
    }
  }
  return {};
}

Result<Case> case_of(const Node& node) {
  Case result;
  TANDEM_TRY(result.inputs, values_of(node, "inputs"));
  TANDEM_TRY(result.outputs, values_of(node, "outputs"));
  if (const auto rtol = optional_member(node, "rtol")) {
    TANDEM_TRY(result.tolerance.rtol, tolerance_of(*rtol));
  }
  if (const auto atol = optional_member(node, "atol")) {
    TANDEM_TRY(result.tolerance.atol, tolerance_of(*atol));
  }
  if (const auto reload = optional_member(node, "reload")) {
    TANDEM_TRY(result.reload, truth_of(*reload));
  }
  if (const auto repeat = optional_member(node, "repeat")) {
    TANDEM_TRY(result.repeat, integer_of(*repeat, 1, INT64_MAX));
    TANDEM_CHECK_OK(check_repeat(result.inputs, result.repeat));
    TANDEM_CHECK_OK(check_repeat(result.outputs, result.repeat));
  }
  return result;
}

Result<Refusal> refusal_of(const Node& node) {
  Refusal refusal;
  TANDEM_TRY(refusal.inputs, values_of(node, "inputs"));
  if (const auto reason = optional_member(node, "reason")) {
    TANDEM_TRY(refusal.reason, text_of(*reason));
  }
  return refusal;
}

Result<InputBounds> bounds_of(const Node& node) {
  InputBounds bounds;
  const auto read = [&node](const char* key, std::int64_t low, auto& out) -> Status {
    TANDEM_TRY(const Node number, member(node, key));
    TANDEM_TRY(const std::int64_t value, integer_of(number, low, INT64_MAX));
    out = static_cast<std::remove_reference_t<decltype(out)>>(value);
    return {};
  };
  TANDEM_CHECK_OK(read("input", 0, bounds.input));
  TANDEM_CHECK_OK(read("axis", 0, bounds.axis));
  if (optional_member(node, "min")) TANDEM_CHECK_OK(read("min", 0, bounds.min));
  if (optional_member(node, "max")) TANDEM_CHECK_OK(read("max", bounds.min, bounds.max));
  return bounds;
}

/// A recorded call is a statement, too: sizes of 0 in it are handled.
void state_zeros(const Case& recorded, std::vector<InputBounds>& bounds) {
  for (std::size_t i = 0; i < recorded.inputs.size(); ++i) {
    const std::vector<std::int64_t>& shape = recorded.inputs[i].shape;
    for (std::size_t axis = recorded.repeat != 0 ? 1 : 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 0) bounds.push_back({.input = i, .axis = axis - (recorded.repeat != 0 ? 1 : 0), .min = 0});
    }
  }
}

Result<CaseMethod> method_of(const Node& node, const std::string& name) {
  CaseMethod method;
  method.name = name;
  TANDEM_TRY(const Node cases, member(node, "cases"));
  TANDEM_TRY(method.cases, list_of(cases, case_of));
  if (const auto failures = optional_member(node, "failures")) {
    TANDEM_TRY(method.failures, list_of(*failures, refusal_of));
  }
  if (const auto bounds = optional_member(node, "bounds")) {
    TANDEM_TRY(method.bounds, list_of(*bounds, bounds_of));
  }
  for (const Case& recorded : method.cases) state_zeros(recorded, method.bounds);
  for (InputBounds& bounds : method.bounds) bounds.method = name;
  return method;
}

Result<CaseStep> step_of(const Node& node, const std::vector<CaseMethod>& methods) {
  if (!node.json->is_array() || node.json->size() != 2) return bad_field(node, "[method, index of a case]");
  TANDEM_TRY(const std::string name, text_of(Node{&(*node.json)[0], node.field + "[0]"}));
  const auto method =
      std::find_if(methods.begin(), methods.end(), [&name](const CaseMethod& other) { return other.name == name; });
  if (method == methods.end()) return bad_field(node, "one of the methods");
  TANDEM_TRY(const std::int64_t index, integer_of(Node{&(*node.json)[1], node.field + "[1]"}, 0,
                                                  static_cast<std::int64_t>(method->cases.size()) - 1));
  return CaseStep{static_cast<std::size_t>(method - methods.begin()), static_cast<std::size_t>(index)};
}

/// "all", "none", or a list of names.
Result<SharedBuffers> shared_buffers_of(const Node& node) {
  if (*node.json == "all") return SharedBuffers::all();
  if (*node.json == "none") return SharedBuffers::none();
  if (!node.json->is_array()) return bad_field(node, "\"all\", \"none\" or a list of names");
  TANDEM_TRY(std::vector<std::string> names, list_of(node, text_of));
  return SharedBuffers::named(std::move(names));
}

Result<CaseFolder> folder_of(const Json& json, const std::filesystem::path& folder) {
  const Node root{&json, ""};
  CaseFolder result;
  result.folder = folder;
  TANDEM_TRY(const Node files, member(root, "files"));
  TANDEM_TRY(const Node program, member(files, "pte"));
  TANDEM_TRY(const std::string program_name, file_name_of(program));
  result.program = folder / program_name;
  if (const auto data = optional_member(files, "ptd")) {
    TANDEM_TRY(const std::vector<std::string> names, list_of(*data, file_name_of));
    for (const std::string& name : names) result.data_files.push_back(folder / name);
  }

  if (const auto shared = optional_member(root, "shared_buffers")) {
    TANDEM_TRY(result.shared_buffers, shared_buffers_of(*shared));
  }

  TANDEM_TRY(const Node methods, member(root, "methods"));
  if (!methods.json->is_object()) return bad_field(methods, "an object");
  for (const auto& [name, method] : methods.json->items()) {
    TANDEM_TRY(CaseMethod read, method_of(Node{&method, "methods." + name}, name));
    result.methods.push_back(std::move(read));
  }

  if (const auto order = optional_member(root, "order")) {
    TANDEM_TRY(result.order, list_of(*order, [&result](const Node& node) { return step_of(node, result.methods); }));
  } else {
    for (std::size_t m = 0; m < result.methods.size(); ++m) {
      for (std::size_t c = 0; c < result.methods[m].cases.size(); ++c) result.order.push_back({m, c});
    }
  }
  return result;
}

/// The only place that meets the parser's exceptions.
Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{ErrorCode::InvalidArgument, printable(error.what())}.with_offset(error.byte == 0 ? 0 : error.byte - 1);
  } catch (const Json::exception& error) {  // a number out of range
    return Error{ErrorCode::InvalidArgument, printable(error.what())};
  }
}

}  // namespace

Result<CaseFolder> read_case_folder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "meta.json";
  TANDEM_TRY(const base::MappedFile mapped, base::MappedFile::open(file));
  const std::string_view text{reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
  Result<Json> json = parse_json(text);
  if (!json.ok()) return std::move(json).error().with_file(file.string());
  Result<CaseFolder> read = folder_of(*json, folder);
  if (!read.ok()) return std::move(read).error().with_file(file.string());
  return read;
}

std::vector<InputBounds> input_bounds_of(const CaseFolder& folder) {
  std::vector<InputBounds> all;
  for (const CaseMethod& method : folder.methods) all.insert(all.end(), method.bounds.begin(), method.bounds.end());
  return all;
}

Result<std::vector<Value>> load_values(const std::filesystem::path& folder, std::span<const CaseValue> values) {
  std::vector<Value> loaded;
  for (const CaseValue& value : values) {
    if (!value.value.is_tensor()) {
      loaded.push_back(value.value);
      continue;
    }
    const std::filesystem::path file = folder / value.file;
    TANDEM_TRY(Tensor tensor, read_npy(file, value.dtype));
    if (tensor.dtype() != value.dtype || !std::ranges::equal(tensor.sizes(), value.shape)) {
      return Error{ErrorCode::InvalidArgument, "array is not what meta.json says"}
          .with_expected(fmt::format("{} {}", name_of(value.dtype), shape_text(value.shape)),
                         fmt::format("{} {}", name_of(tensor.dtype()), shape_text(tensor.sizes())))
          .with_file(file.string())
          .with_field(printable(value.field));
    }
    loaded.push_back(std::move(tensor));
  }
  return loaded;
}

Result<std::vector<Value>> values_of_call(std::span<const Value> loaded, std::span<const CaseValue> described,
                                          bool repeats, std::int64_t call) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (!loaded[i].is_tensor()) {
      values.push_back(loaded[i]);
      continue;
    }
    Tensor tensor = loaded[i].tensor();
    std::vector<std::uint8_t> dim_order = described[i].dim_order;
    if (repeats) {
      TANDEM_TRY(tensor, row_of(tensor, call));
      dim_order.erase(dim_order.begin());  // check_repeat: the axis of the calls is first
      for (std::uint8_t& axis : dim_order) --axis;
    }
    TANDEM_TRY(tensor, in_layout(tensor, dim_order));
    values.push_back(std::move(tensor));
  }
  return values;
}

}  // namespace tandem::cli
