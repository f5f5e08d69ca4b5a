#include <tandem/value.h>

namespace tandem {

std::string_view name_of(Value::Kind kind) noexcept {
  switch (kind) {
    case Value::Kind::None:
      return "none";
    case Value::Kind::Tensor:
      return "tensor";
    case Value::Kind::Int:
      return "int";
    case Value::Kind::Double:
      return "double";
    case Value::Kind::Bool:
      return "bool";
    case Value::Kind::String:
      return "string";
  }
  return "unknown";
}

}  // namespace tandem
