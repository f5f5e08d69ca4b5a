#include "support/dump_json.h"

#include "base/sha256.h"

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>

namespace tandem::testing {
namespace {

using nlohmann::json;

// ExecuTorch's names, by number.
constexpr std::array<std::string_view, 30> kScalarTypes{
    "BYTE",   "CHAR",   "SHORT", "INT",   "LONG",   "HALF",       "FLOAT",        "DOUBLE",         "",
    "",       "",       "BOOL",  "QINT8", "QUINT8", "QINT32",     "BFLOAT16",     "QUINT4X2",       "QUINT2X4",
    "",       "",       "",      "",      "BITS16", "FLOAT8E5M2", "FLOAT8E4M3FN", "FLOAT8E5M2FNUZ", "FLOAT8E4M3FNUZ",
    "UINT16", "UINT32", "UINT64"};

json named(std::string_view name, int number) { return {{"name", name}, {"number", number}}; }

json scalar_type(ScalarType type) {
  const auto number = static_cast<std::size_t>(type);
  return named(kScalarTypes.at(number), static_cast<int>(number));
}

json device_type(DeviceType type) { return named(type == DeviceType::Cuda ? "CUDA" : "CPU", static_cast<int>(type)); }

/// Bytes as Latin-1, so that each is one character; JSON wants them as UTF-8.
std::string latin1(format::Bytes bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    const auto c = std::to_integer<unsigned>(b);
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return out;
}

std::string sha256(format::Bytes bytes) {
  const auto digest = base::sha256_hex(bytes);
  return digest.ok() ? *digest : digest.error().to_string();
}

json text_or_null(std::string_view text) { return text.empty() ? json{} : json(text); }

json list_or_null(const json& list) { return list.empty() ? json{} : list; }

json tensor(const format::Tensor& t) {
  json out{{"type", "Tensor"},           {"scalar_type", scalar_type(t.dtype)},
           {"storage_offset", 0},        {"sizes", t.sizes},
           {"dim_order", t.dim_order},   {"requires_grad", t.requires_grad},
           {"layout", t.layout},         {"data_buffer_idx", t.data_buffer_idx},
           {"allocation_info", nullptr}, {"extra_tensor_info", nullptr}};
  out["shape_dynamism"] = t.dynamism == format::ShapeDynamism::Static ? named("STATIC", 0) : named("DYNAMIC_BOUND", 1);
  if (t.allocation) {
    out["allocation_info"] = {{"memory_id", t.allocation->memory_id},
                              {"memory_offset_low", t.allocation->offset & 0xFFFFFFFFU},
                              {"memory_offset_high", t.allocation->offset >> 32}};
  }
  if (t.has_extra_info) {
    const bool external = t.source == format::DataSource::External;
    out["extra_tensor_info"] = {{"fully_qualified_name", text_or_null(t.name)},
                                {"location", external ? named("EXTERNAL", 1) : named("SEGMENT", 0)},
                                {"device_type", device_type(t.device.type)},
                                {"device_index", t.device.index}};
  }
  return out;
}

json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

json bools(const std::vector<std::uint8_t>& items) {
  json out = json::array();
  for (const std::uint8_t item : items) out.push_back(item != 0);
  return out;
}

json doubles(const std::vector<double>& items) {
  json out = json::array();
  for (const double item : items) out.push_back(number(item));
  return out;
}

struct ValueDump {
  json operator()(std::monostate) const { return {{"type", "Null"}}; }
  json operator()(std::int64_t v) const { return {{"type", "Int"}, {"int_val", v}}; }
  json operator()(bool v) const { return {{"type", "Bool"}, {"bool_val", v}}; }
  json operator()(double v) const { return {{"type", "Double"}, {"double_val", number(v)}}; }
  json operator()(const format::Tensor& v) const { return tensor(v); }
  json operator()(std::string_view v) const { return {{"type", "String"}, {"string_val", v}}; }
  json operator()(const format::IntList& v) const { return {{"type", "IntList"}, {"items", v.items}}; }
  json operator()(const format::DoubleList& v) const { return {{"type", "DoubleList"}, {"items", doubles(v.items)}}; }
  json operator()(const format::BoolList& v) const { return {{"type", "BoolList"}, {"items", bools(v.items)}}; }
  json operator()(const format::TensorList& v) const { return {{"type", "TensorList"}, {"items", v.items}}; }
  json operator()(const format::OptionalTensorList& v) const {
    return {{"type", "OptionalTensorList"}, {"items", v.items}};
  }
};

struct InstructionDump {
  json operator()(const format::KernelCall& v) const {
    return {{"type", "KernelCall"}, {"op_index", v.op}, {"args", v.args}};
  }
  json operator()(const format::DelegateCall& v) const {
    return {{"type", "DelegateCall"}, {"delegate_index", v.delegate}, {"args", v.args}};
  }
  json operator()(const format::MoveCall& v) const {
    return {{"type", "MoveCall"}, {"move_from", v.from}, {"move_to", v.to}};
  }
  json operator()(const format::JumpFalseCall& v) const {
    return {{"type", "JumpFalseCall"}, {"cond_value_index", v.condition}, {"destination_instruction", v.destination}};
  }
  json operator()(const format::FreeCall& v) const { return {{"type", "FreeCall"}, {"value_index", v.value}}; }
};

template <class Items, class Convert>
json list(const Items& items, Convert convert) {
  json out = json::array();
  for (const auto& item : items) out.push_back(convert(item));
  return out;
}

json chain(const format::Chain& c) {
  return {{"inputs", c.inputs},
          {"outputs", c.outputs},
          {"instructions", list(c.instructions, [](const auto& i) { return std::visit(InstructionDump{}, i); })}};
}

json delegate(const format::Delegate& d) {
  return {{"id", d.id},
          {"processed",
           {{"location", d.inline_payload ? named("INLINE", 0) : named("SEGMENT", 1)}, {"index", d.payload_index}}},
          {"compile_specs", list(d.compile_specs, [](const format::CompileSpec& spec) {
             return json{{"key", spec.key}, {"value", latin1(spec.value)}};
           })}};
}

json method(const format::Method& m) {
  json devices = json::array();
  for (std::size_t i = 0; i < m.arenas.size(); ++i) {
    const DeviceId device = m.arenas[i].device;
    if (device.type == DeviceType::Host) continue;
    devices.push_back({{"buffer_idx", i}, {"device_type", device_type(device.type)}, {"device_index", device.index}});
  }
  return {{"name", m.name},
          {"container_meta_type", {{"encoded_inp_str", m.encoded_inputs}, {"encoded_out_str", m.encoded_outputs}}},
          {"values", list(m.values, [](const auto& v) { return std::visit(ValueDump{}, v); })},
          {"inputs", m.inputs},
          {"outputs", m.outputs},
          {"chains", list(m.chains, chain)},
          {"operators", list(m.operators,
                             [](const format::Operator& op) {
                               return json{{"name", op.name}, {"overload", op.overload}};
                             })},
          {"delegates", list(m.delegates, delegate)},
          {"non_const_buffer_sizes", list(m.arenas, [](const format::Arena& arena) { return json(arena.bytes); })},
          {"non_const_buffer_device", list_or_null(devices)}};
}

json offsets(const format::SubsegmentOffsets& o) { return {{"segment_index", o.segment}, {"offsets", o.offsets}}; }

json segments(const std::vector<format::Segment>& list_of, std::uint64_t base) {
  return list(list_of, [base](const format::Segment& s) {
    return json{{"offset", s.offset - base}, {"size", s.bytes}};
  });
}

json digests(const std::vector<format::Segment>& list_of, format::Bytes file) {
  return list(list_of, [file](const format::Segment& s) { return json(sha256(file.subspan(s.offset, s.bytes))); });
}

std::string identifier(format::Bytes file) { return latin1(file.subspan(4, 4)); }

}  // namespace

json dump(const format::Program& program, format::Bytes file) {
  json out{{"file_bytes", file.size()},
           {"root_offset", program.root_offset},
           {"identifier", identifier(file)},
           {"extended_header", nullptr}};
  std::uint64_t base = 0;
  if (const auto& header = program.header) {
    base = header->segment_base_offset;
    out["extended_header"] = {{"length", header->length},
                              {"program_size", header->program_bytes},
                              {"segment_base_offset", base},
                              {"segment_data_size", header->segment_data_bytes}};
  }
  json named_data = list(program.named_data, [](const format::NamedDataEntry& entry) {
    return json{{"key", entry.key}, {"segment_index", entry.segment}};
  });
  out["program"] = {
      {"version", program.version},
      {"execution_plan", list(program.methods, method)},
      {"constant_buffer", json::array()},
      {"backend_delegate_data", list(program.inline_delegate_data,
                                     [](format::Bytes data) {
                                       return json{{"data", {{"bytes", data.size()}, {"sha256", sha256(data)}}}};
                                     })},
      {"segments", segments(program.segments, base)},
      {"constant_segment", program.constant_segment ? offsets(*program.constant_segment) : json{}},
      {"mutable_data_segments", list_or_null(list(program.mutable_segments, offsets))},
      {"named_data", list_or_null(named_data)}};
  out["segment_sha256"] = digests(program.segments, file);
  out["delegate_payloads"] = json::array();
  for (const format::Method& m : program.methods) {
    for (const format::Delegate& d : m.delegates) {
      out["delegate_payloads"].push_back({{"method", m.name}, {"id", d.id}, {"payload", latin1(d.payload)}});
    }
  }
  return out;
}

json dump(const format::DataFile& data, format::Bytes file) {
  const format::DataHeader& header = data.header;
  json entries = list(data.entries, [](const format::DataEntry& entry) {
    json out{{"key", entry.key}, {"segment_index", entry.segment}, {"tensor_layout", nullptr}};
    if (entry.layout) {
      out["tensor_layout"] = {{"scalar_type", scalar_type(entry.layout->dtype)},
                              {"sizes", entry.layout->sizes},
                              {"dim_order", entry.layout->dim_order}};
    }
    return out;
  });
  return {{"file_bytes", file.size()},
          {"root_offset", data.root_offset},
          {"identifier", identifier(file)},
          {"header",
           {{"length", header.length},
            {"flatbuffer_offset", header.flatbuffer_offset},
            {"flatbuffer_size", header.flatbuffer_bytes},
            {"segment_base_offset", header.segment_base_offset},
            {"segment_data_size", header.segment_data_bytes}}},
          {"flat_tensor",
           {{"version", data.version},
            {"segments", segments(data.segments, header.segment_base_offset)},
            {"named_data", std::move(entries)}}},
          {"segment_sha256", digests(data.segments, file)}};
}

}  // namespace tandem::testing
