#include "cli/json.h"

#include <cmath>
#include <cstdint>

namespace tandem::cli {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json{} : Json(text); }

std::string_view origin_text(Origin origin) noexcept {
  switch (origin) {
    case Origin::None:
      return "none";
    case Origin::Errno:
      return "errno";
    case Origin::DynamicLoader:
      return "dynamic_loader";
    case Origin::Aoti:
      return "aoti";
    case Origin::Cuda:
      return "cuda";
    case Origin::Hip:
      return "hip";
    case Origin::TensorRt:
      return "tensorrt";
    case Origin::Custom:
      return "custom";
  }
  return "none";
}

Json site_json(const ErrorSite& site) {
  Json json = Json::object();
  const auto text = [&json](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  const auto index = [&json](const char* key, int value) {
    if (value >= 0) json[key] = value;
  };
  text("file", site.file);
  text("method", site.method);
  index("chain", site.chain);
  index("instruction", site.instruction);
  index("delegate", site.delegate);
  text("backend", site.backend);
  text("operator", site.op);
  index("argument", site.argument);
  index("value", site.value);
  text("key", site.key);
  text("field", site.field);
  if (site.offset) json["offset"] = *site.offset;
  text("device", site.device);
  return json;
}

}  // namespace

Json number_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

Json value_json(const Value& value) {
  Json json{{"kind", name_of(value.kind())}};
  switch (value.kind()) {
    case Value::Kind::None:
      break;
    case Value::Kind::Tensor:
      json["dtype"] = name_of(value.tensor().dtype());
      json["shape"] = value.tensor().sizes();
      break;
    case Value::Kind::Int:
      json["value"] = value.to_int();
      break;
    case Value::Kind::Double:
      json["value"] = number_json(value.to_double());
      break;
    case Value::Kind::Bool:
      json["value"] = value.to_bool();
      break;
    case Value::Kind::String:
      json["value"] = value.to_text();
      break;
  }
  return json;
}

Json error_json(const Error& error) {
  Json json{{"code", name_of(error.code())},
            {"code_number", static_cast<std::uint32_t>(error.code())},
            {"message", error.message()},
            {"expected", text_or_null(error.expected())},
            {"found", text_or_null(error.found())},
            {"native", nullptr},
            {"site", site_json(error.site())},
            {"raised_at", error.raised_at()},
            {"text", error.to_string()}};
  if (const NativeError& native = error.native(); native.origin != Origin::None) {
    json["native"] = {{"origin", origin_text(native.origin)}, {"code", native.code}, {"text", native.text}};
  }
  return json;
}

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace tandem::cli
