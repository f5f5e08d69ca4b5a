#include "facade/shared_buffers.h"

#include "base/log.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tandem::facade {
namespace {

constexpr const char* kMethod = "get_mutable_buffer_metadata";

SharedBuffers ignored(const std::string& why) {
  base::log(LogLevel::Warning, std::string{"the result of "} + kMethod + " is not used: " + why);
  return {};
}

}  // namespace

SharedBuffers shared_buffers(const Program& program, const SharedBuffers& wanted) {
  if (wanted.is_decided()) return wanted;
  const auto meta = program.method_meta(kMethod);
  if (!meta.ok() || meta->outputs.size() != 1 || meta->outputs[0].traced.kind() != Value::Kind::String) return {};
  const auto json = nlohmann::json::parse(meta->outputs[0].traced.to_text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return ignored("it is not a JSON object");
  const auto version = json.find("version");
  if (version == json.end() || *version != 1) {
    return ignored("expected version 1, found " + (version == json.end() ? "none" : version->dump()));
  }
  const auto buffers = json.find("mutable_buffers");
  if (buffers == json.end() || !buffers->is_array()) return ignored("it has no list mutable_buffers");
  std::vector<std::string> names;
  for (const auto& name : *buffers) {
    if (!name.is_string()) return ignored("an entry of mutable_buffers is not a text");
    names.push_back(name.get<std::string>());
  }
  return SharedBuffers::named(std::move(names));
}

}  // namespace tandem::facade
