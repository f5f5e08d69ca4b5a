#include "cli/inspect_report.h"

#include "cli/delegate_keys.h"
#include "cli/picture/method_steps.h"
#include "cli/text.h"
#include "runtime/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace tandem::cli {
namespace {

using format::Bytes;

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// {"text": ...} if the bytes are printable, else {"hex": ...}.
void put_bytes(Json& json, Bytes bytes) {
  const std::string text = text_of(bytes);
  if (printable(text) == text) {
    json["text"] = text;
    return;
  }
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  json["hex"] = std::move(hex);
}

std::string_view name_of(format::ShapeDynamism dynamism) noexcept {
  switch (dynamism) {
    case format::ShapeDynamism::Static:
      return "static";
    case format::ShapeDynamism::DynamicBound:
      return "bounded";
    case format::ShapeDynamism::DynamicUnbound:
      return "unbounded";
  }
  return "static";
}

std::string_view name_of(format::DataSource source) noexcept {
  switch (source) {
    case format::DataSource::None:
      return "none";
    case format::DataSource::Constant:
      return "constant";
    case format::DataSource::Initial:
      return "initial";
    case format::DataSource::External:
      return "external";
  }
  return "none";
}

Json tensor_json(const format::Tensor& tensor) {
  Json json{{"kind", "tensor"},
            {"dtype", name_of(tensor.dtype)},
            {"shape", tensor.sizes},
            {"dynamism", name_of(tensor.dynamism)},
            {"dim_order", tensor.dim_order},
            {"bytes", tensor.bytes},
            {"memory", nullptr},
            {"data", name_of(tensor.source)},
            {"data_buffer_idx", tensor.data_buffer_idx},
            {"name", tensor.name.empty() ? Json{} : Json(tensor.name)},
            {"device", to_string(tensor.device)}};
  if (tensor.allocation) {
    json["memory"] = {{"id", tensor.allocation->memory_id}, {"offset", tensor.allocation->offset}};
  }
  return json;
}

/// One entry of a method's value list.
Json spec_json(const format::ValueSpec& spec) {
  struct Visitor {
    Json operator()(std::monostate) const { return {{"kind", "none"}}; }
    Json operator()(std::int64_t number) const { return {{"kind", "int"}, {"value", number}}; }
    Json operator()(bool flag) const { return {{"kind", "bool"}, {"value", flag}}; }
    Json operator()(double number) const { return {{"kind", "double"}, {"value", number_json(number)}}; }
    Json operator()(const format::Tensor& tensor) const { return tensor_json(tensor); }
    Json operator()(std::string_view text) const { return {{"kind", "string"}, {"value", text}}; }
    Json operator()(const format::IntList& list) const { return {{"kind", "int_list"}, {"values", list.items}}; }
    Json operator()(const format::DoubleList& list) const {
      Json items = Json::array();
      for (const double item : list.items) items.push_back(number_json(item));
      return {{"kind", "double_list"}, {"items", std::move(items)}};
    }
    Json operator()(const format::BoolList& list) const {
      Json items = Json::array();
      for (const std::uint8_t item : list.items) items.push_back(item != 0);
      return {{"kind", "bool_list"}, {"items", std::move(items)}};
    }
    Json operator()(const format::TensorList& list) const { return {{"kind", "tensor_list"}, {"values", list.items}}; }
    Json operator()(const format::OptionalTensorList& list) const {
      return {{"kind", "optional_tensor_list"}, {"values", list.items}};
    }
  };
  return std::visit(Visitor{}, spec);
}

Json instruction_json(const format::Method& method, const format::Instruction& instruction) {
  struct Visitor {
    const format::Method& method;
    Json operator()(const format::KernelCall& call) const {
      return {{"kind", "kernel"}, {"operator", full_name(method.operators[call.op])}, {"args", call.args}};
    }
    Json operator()(const format::DelegateCall& call) const {
      return {{"kind", "delegate"},
              {"delegate", call.delegate},
              {"id", method.delegates[call.delegate].id},
              {"args", call.args}};
    }
    Json operator()(const format::MoveCall& call) const {
      return {{"kind", "move"}, {"from", call.from}, {"to", call.to}};
    }
    Json operator()(const format::JumpFalseCall& call) const {
      return {{"kind", "jump_false"}, {"condition", call.condition}, {"destination", call.destination}};
    }
    Json operator()(const format::FreeCall& call) const { return {{"kind", "free"}, {"value", call.value}}; }
  };
  return std::visit(Visitor{method}, instruction);
}

Json segments_json(const std::vector<format::Segment>& segments) {
  Json json = Json::array();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    json.push_back({{"index", i}, {"offset", segments[i].offset}, {"bytes", segments[i].bytes}});
  }
  return json;
}

/// What a method needs that is not here, each thing once, in the order met.
class Problems {
 public:
  void add(std::string problem) {
    if (seen_.insert(problem).second) list_.push_back(std::move(problem));
  }
  [[nodiscard]] const std::vector<std::string>& list() const noexcept { return list_; }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> list_;
};

class MethodReport {
 public:
  MethodReport(const InspectedProgram& program, const format::Method& method, const BackendRegistry& backends)
      : program_{program}, method_{method}, backends_{backends} {}

  Json json() {
    Json delegates = Json::array();
    for (std::size_t i = 0; i < method_.delegates.size(); ++i) delegates.push_back(delegate_json(i));
    Json operators = operators_json();
    Json memory = memory_json();
    Json chains = chains_json();
    return {{"name", method_.name},
            {"available", problems_.list().empty()},
            {"problems", problems_.list()},
            {"inputs", interface_json(method_.inputs)},
            {"outputs", interface_json(method_.outputs)},
            {"delegates", std::move(delegates)},
            {"operators", std::move(operators)},
            {"memory", std::move(memory)},
            {"chains", std::move(chains)},
            {"values", values_json()},
            {"encoded_inputs", method_.encoded_inputs},
            {"encoded_outputs", method_.encoded_outputs}};
  }

 private:
  Json interface_json(const std::vector<std::int32_t>& values) const {
    Json json = Json::array();
    for (const std::int32_t value : values) {
      Json entry{{"index", value}};
      entry.update(spec_json(method_.values[static_cast<std::size_t>(value)]));
      json.push_back(std::move(entry));
    }
    return json;
  }

  Json values_json() const {
    Json json = Json::array();
    for (const format::ValueSpec& value : method_.values) json.push_back(spec_json(value));
    return json;
  }

  /// Why delegates of this id do not run here; nothing if they do.
  std::optional<std::string> why_unavailable(std::string_view id) const {
    const std::shared_ptr<Backend> backend = backends_.find(id);
    if (backend == nullptr) return "not available in this build";
    if (const Status status = backend->available(); !status.ok()) return status.error().to_string();
    return std::nullopt;
  }

  Json path_json(const KeyNeed& need, std::size_t delegate) {
    const std::filesystem::path file = std::filesystem::path{program_.file}.parent_path() / need.path;
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
    if (failed) problems_.add(fmt::format("no file {} ({} of delegate {})", file.string(), need.purpose, delegate));
    return {{"purpose", need.purpose},
            {"key", need.path},
            {"required", true},
            {"found", !failed},
            {"bytes", failed ? Json{} : Json(bytes)},
            {"file", failed ? Json{} : Json(file.string())}};
  }

  Json need_json(const KeyNeed& need, std::size_t delegate) {
    if (need.payload_bytes) {
      return {{"purpose", need.purpose},      {"key", nullptr},       {"required", true}, {"found", true},
              {"bytes", *need.payload_bytes}, {"file", program_.file}};
    }
    if (!need.path.empty()) return path_json(need, delegate);
    for (const std::string& key : need.keys) {
      if (const auto found = program_.named.find(key); found.ok()) {
        return {{"purpose", need.purpose},
                {"key", key},
                {"required", need.required},
                {"found", true},
                {"bytes", (*found)->entry.data.size()},
                {"file", program_.named.files()[(*found)->file]}};
      }
    }
    if (need.required) {
      problems_.add(fmt::format("no data file has the key {} ({} of delegate {})", fmt::join(need.keys, " or "),
                                need.purpose, delegate));
    }
    return {{"purpose", need.purpose}, {"key", need.keys.front()}, {"required", need.required},
            {"found", false},          {"bytes", nullptr},         {"file", nullptr}};
  }

  Json delegate_json(std::size_t index) {
    const format::Delegate& delegate = method_.delegates[index];
    const std::optional<std::string> reason = why_unavailable(delegate.id);
    if (reason) problems_.add(fmt::format("{}: {}", delegate.id, *reason));
    Json specs = Json::array();
    for (const format::CompileSpec& spec : delegate.compile_specs) {
      Json entry{{"key", spec.key}};
      put_bytes(entry, spec.value);
      specs.push_back(std::move(entry));
    }
    Json keys;  // null: the payload's form is the backend's own
    if (const auto needs = delegate_keys(delegate, method_.name)) {
      keys = Json::array();
      for (const KeyNeed& need : *needs) keys.push_back(need_json(need, index));
    }
    return {{"index", index},
            {"id", delegate.id},
            {"available", !reason.has_value()},
            {"reason", reason ? Json(*reason) : Json{}},
            {"payload_bytes", delegate.payload.size()},
            {"payload_in", delegate.inline_payload ? "inline" : "segment"},
            {"payload_index", delegate.payload_index},
            {"compile_specs", std::move(specs)},
            {"keys", std::move(keys)}};
  }

  Json operators_json() {
    std::map<std::uint32_t, std::size_t> calls;
    for (const format::Chain& chain : method_.chains) {
      for (const format::Instruction& instruction : chain.instructions) {
        if (const auto* call = std::get_if<format::KernelCall>(&instruction)) ++calls[call->op];
      }
    }
    Json json = Json::array();
    for (std::size_t i = 0; i < method_.operators.size(); ++i) {
      std::string name = full_name(method_.operators[i]);
      const bool available = runtime::OperatorRegistry::builtin().find(name) != nullptr;
      if (!available) problems_.add(fmt::format("operator {}: not available in this build", name));
      json.push_back({{"index", i},
                      {"name", std::move(name)},
                      {"calls", calls[static_cast<std::uint32_t>(i)]},
                      {"available", available}});
    }
    return json;
  }

  Json memory_json() {
    Json arenas = Json::array();
    for (std::size_t id = 1; id < method_.arenas.size(); ++id) {  // 0 is a placeholder
      const format::Arena& arena = method_.arenas[id];
      arenas.push_back({{"id", id}, {"bytes", arena.bytes}, {"device", to_string(arena.device)}});
    }
    std::size_t constant_count = 0;
    std::uint64_t constant_bytes = 0;
    std::size_t external_count = 0;
    Json mutable_buffers = Json::array();
    for (std::size_t i = 0; i < method_.values.size(); ++i) {
      const auto* tensor = std::get_if<format::Tensor>(&method_.values[i]);
      if (tensor == nullptr) continue;
      const bool has_data = tensor->source != format::DataSource::None;
      if (tensor->source == format::DataSource::External) {
        ++external_count;
        if (!program_.named.find(tensor->name).ok()) {
          problems_.add(fmt::format("no data file has the key {} (value {})", tensor->name, i));
        }
      }
      if (has_data && !tensor->allocation) {
        ++constant_count;
        constant_bytes += tensor->bytes;
      }
      const bool is_input =
          std::find(method_.inputs.begin(), method_.inputs.end(), static_cast<std::int32_t>(i)) != method_.inputs.end();
      // The exporter names the buffers of a module; intermediate values have no name.
      if (tensor->allocation && !is_input && (has_data || !tensor->name.empty())) {
        Json entry{{"index", i}};
        entry.update(tensor_json(*tensor));
        mutable_buffers.push_back(std::move(entry));
      }
    }
    return {{"arenas", std::move(arenas)},
            {"constants", {{"count", constant_count}, {"bytes", constant_bytes}}},
            {"external", external_count},
            {"mutable_buffers", std::move(mutable_buffers)}};
  }

  Json chains_json() const {
    Json chains = Json::array();
    for (const format::Chain& chain : method_.chains) {
      Json instructions = Json::array();
      for (const format::Instruction& instruction : chain.instructions) {
        instructions.push_back(instruction_json(method_, instruction));
      }
      chains.push_back({{"instructions", std::move(instructions)}});
    }
    return chains;
  }

  const InspectedProgram& program_;
  const format::Method& method_;
  const BackendRegistry& backends_;
  Problems problems_;
};

Json named_data_json(const format::Program& program) {
  Json json = Json::array();
  for (const format::NamedDataEntry& entry : program.named_data) {
    json.push_back({{"key", entry.key}, {"bytes", entry.data.size()}, {"segment", entry.segment}});
  }
  return json;
}

Json offsets_json(const format::SubsegmentOffsets& offsets) {
  return {{"segment", offsets.segment}, {"offsets", offsets.offsets}};
}

}  // namespace

Json data_json(const InspectedData& data) {
  Json entries = Json::array();
  for (const format::DataEntry& entry : data.data.entries) {
    Json json{{"key", entry.key}, {"bytes", entry.data.size()}, {"segment", entry.segment}, {"layout", nullptr}};
    if (entry.layout) {
      json["layout"] = {{"dtype", tandem::name_of(entry.layout->dtype)},
                        {"shape", entry.layout->sizes},
                        {"dim_order", entry.layout->dim_order}};
    }
    entries.push_back(std::move(json));
  }
  const format::DataHeader& header = data.data.header;
  return {{"file", data.file},
          {"kind", "ptd"},
          {"bytes", data.mapped.bytes().size()},
          {"version", data.data.version},
          {"header",
           {{"length", header.length},
            {"flatbuffer_offset", header.flatbuffer_offset},
            {"flatbuffer_bytes", header.flatbuffer_bytes},
            {"segment_base_offset", header.segment_base_offset},
            {"segment_data_bytes", header.segment_data_bytes}}},
          {"segments", segments_json(data.data.segments)},
          {"named_data", std::move(entries)}};
}

Json program_json(const InspectedProgram& inspected, const BackendRegistry& backends) {
  const format::Program& program = inspected.program;
  Json methods = Json::array();
  bool available = true;
  for (const format::Method& method : program.methods) {
    methods.push_back(MethodReport{inspected, method, backends}.json());
    available = available && methods.back()["available"] == true;
  }
  Json header;
  if (program.header) {
    header = {{"length", program.header->length},
              {"program_bytes", program.header->program_bytes},
              {"segment_base_offset", program.header->segment_base_offset},
              {"segment_data_bytes", program.header->segment_data_bytes}};
  }
  Json mutable_segments = Json::array();
  for (const format::SubsegmentOffsets& offsets : program.mutable_segments) {
    mutable_segments.push_back(offsets_json(offsets));
  }
  Json data_files = Json::array();
  for (const InspectedData& data : inspected.data_files) data_files.push_back(data_json(data));
  return {{"file", inspected.file},
          {"kind", "pte"},
          {"bytes", inspected.mapped.bytes().size()},
          {"version", program.version},
          {"available", available},
          {"header", std::move(header)},
          {"methods", std::move(methods)},
          {"named_data", named_data_json(program)},
          {"data_files", std::move(data_files)},
          {"segments", segments_json(program.segments)},
          {"constant_segment", program.constant_segment ? offsets_json(*program.constant_segment) : Json{}},
          {"mutable_segments", std::move(mutable_segments)}};
}

}  // namespace tandem::cli
