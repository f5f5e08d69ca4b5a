#include "support/same_contents.h"

#include "support/dump_json.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace tandem::testing {
namespace {

using nlohmann::json;

json without_places(json dump) {
  for (const char* name : {"file_bytes", "root_offset", "extended_header", "header", "segment_sha256"}) {
    dump.erase(name);
  }
  for (const char* name : {"program", "flat_tensor"}) {
    if (!dump.contains(name)) continue;
    for (json& segment : dump[name]["segments"]) segment.erase("offset");
  }
  return dump;
}

/// What a dump says of no tensor and no named data: their bytes.
std::vector<format::Bytes> data_of(const format::Program& program) {
  std::vector<format::Bytes> out;
  for (const format::NamedDataEntry& entry : program.named_data) out.push_back(entry.data);
  for (const format::Method& method : program.methods) {
    for (const format::ValueSpec& value : method.values) {
      if (const auto* tensor = std::get_if<format::Tensor>(&value)) out.push_back(tensor->data);
    }
  }
  return out;
}

std::vector<format::Bytes> data_of(const format::DataFile& data) {
  std::vector<format::Bytes> out;
  for (const format::DataEntry& entry : data.entries) out.push_back(entry.data);
  return out;
}

template <class File>
std::string compare(const File& a, format::Bytes file_a, const File& b, format::Bytes file_b) {
  const json dump_a = without_places(dump(a, file_a));
  const json dump_b = without_places(dump(b, file_b));
  if (dump_a != dump_b) return json::diff(dump_a, dump_b).dump(1, ' ', true, json::error_handler_t::replace);
  const auto blobs_a = data_of(a);
  const auto blobs_b = data_of(b);
  const bool same = std::ranges::equal(blobs_a, blobs_b, [](auto x, auto y) { return std::ranges::equal(x, y); });
  return same ? "" : "the bytes of a tensor or entry";
}

}  // namespace

std::string difference(const format::Program& a, format::Bytes file_a, const format::Program& b, format::Bytes file_b) {
  return compare(a, file_a, b, file_b);
}
std::string difference(const format::DataFile& a, format::Bytes file_a, const format::DataFile& b,
                       format::Bytes file_b) {
  return compare(a, file_a, b, file_b);
}

}  // namespace tandem::testing
