#include "support/reference_engine/reference_engine.h"

#include <nlohmann/json.hpp>

#include <cstring>

namespace tandem::testing {
namespace {

using Json = nlohmann::json;

ReferenceTensor tensor(std::string name, bool is_input, std::vector<std::int64_t> sizes,
                       std::vector<std::int64_t> least = {}, std::vector<std::int64_t> most = {}) {
  ReferenceTensor made;
  made.name = std::move(name);
  made.is_input = is_input;
  made.sizes = std::move(sizes);
  made.least = std::move(least);
  made.most = std::move(most);
  return made;
}

template <class T>
void put(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

std::string ReferenceEngine::serialize() const {
  Json list = Json::array();
  for (const ReferenceTensor& t : tensors) {
    list.push_back({{"name", t.name},
                    {"is_input", t.is_input},
                    {"sizes", t.sizes},
                    {"least", t.least.empty() ? t.sizes : t.least},
                    {"most", t.most.empty() ? t.sizes : t.most},
                    {"dtype", t.dtype},
                    {"format", t.format},
                    {"alias_of", t.alias_of},
                    {"on_host", t.on_host},
                    {"is_shape_value", t.is_shape_value}});
  }
  return Json{{"reference_engine", version},
              {"capability", capability},
              {"op", static_cast<int>(op)},
              {"scale", scale},
              {"amount", amount},
              {"spin_cycles", spin_cycles},
              {"auxiliary_streams", auxiliary_streams},
              {"streamable_bytes", streamable_bytes},
              {"tensors", list}}
      .dump();
}

ReferenceEngine ReferenceEngine::affine(std::vector<std::int64_t> sizes, float scale, float amount,
                                        std::vector<std::int64_t> least, std::vector<std::int64_t> most) {
  ReferenceEngine engine;
  engine.scale = scale;
  engine.amount = amount;
  engine.tensors = {tensor("x", true, sizes, std::move(least), std::move(most)), tensor("y", false, sizes)};
  return engine;
}

ReferenceEngine ReferenceEngine::add(std::vector<std::int64_t> sizes) {
  ReferenceEngine engine;
  engine.op = ReferenceOp::Add;
  engine.tensors = {tensor("a", true, sizes), tensor("b", true, sizes), tensor("y", false, sizes)};
  return engine;
}

ReferenceEngine ReferenceEngine::sum(std::vector<std::int64_t> sizes, std::vector<std::int64_t> least,
                                     std::vector<std::int64_t> most) {
  ReferenceEngine engine;
  engine.op = ReferenceOp::Sum;
  engine.tensors = {tensor("x", true, std::move(sizes), std::move(least), std::move(most)), tensor("y", false, {1})};
  return engine;
}

ReferenceEngine ReferenceEngine::cache(std::int64_t rows, std::int64_t columns) {
  ReferenceEngine engine;
  engine.op = ReferenceOp::Cache;
  engine.tensors = {tensor("token", true, {1, columns}), tensor("position", true, {1}),
                    tensor("cache", true, {rows, columns}), tensor("y", false, {1, columns}),
                    tensor("cache_out", false, {rows, columns})};
  engine.tensors[1].dtype = "int64";
  engine.tensors[4].alias_of = "cache";
  return engine;
}

std::string BlobParts::bytes() const {
  const auto round_up = [](std::size_t n) { return (n + 15) / 16 * 16; };
  const std::size_t metadata_end = 32 + metadata.size();
  const std::size_t engine_at = round_up(metadata_end);
  std::string bytes = magic;
  put(bytes, metadata_offset);
  put(bytes, metadata_size.value_or(static_cast<std::uint32_t>(metadata.size())));
  put(bytes, engine_offset.value_or(static_cast<std::uint32_t>(engine_at)));
  put(bytes, engine_size.value_or(std::uint64_t{engine.size()}));
  bytes += '\x01';
  bytes.resize(32);
  bytes += metadata;
  bytes.resize(engine_at);
  return bytes + engine;
}

std::string metadata_of(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const std::vector<std::pair<std::string, std::string>>& aliases) {
  Json bindings = Json::array();
  for (const auto* names : {&inputs, &outputs}) {
    for (const std::string& name : *names) {
      bindings.push_back({{"name", name}, {"dtype", ""}, {"shape", Json::array()}, {"is_input", names == &inputs}});
    }
  }
  Json list = Json::array();
  for (const auto& [output, input] : aliases) {
    list.push_back({{"output", output}, {"input", input}, {"kind", "kv_cache_update"}});
  }
  return Json{{"io_bindings", bindings}, {"aliased_io", list}, {"hardware_compatible", false}, {"device_id", 0}}.dump();
}

std::string blob_of(const ReferenceEngine& engine) {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, std::string>> aliases;
  for (const ReferenceTensor& t : engine.tensors) {
    (t.is_input ? inputs : outputs).push_back(t.name);
    if (!t.alias_of.empty()) aliases.emplace_back(t.name, t.alias_of);
  }
  BlobParts parts;
  parts.magic = aliases.empty() ? "TR01" : "TR02";
  parts.metadata = metadata_of(inputs, outputs, aliases);
  parts.engine = engine.serialize();
  return parts.bytes();
}

}  // namespace tandem::testing
