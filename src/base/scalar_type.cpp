#include <tandem/scalar_type.h>

#include <array>

namespace tandem {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t bytes;
};

// Indexed by number.
constexpr std::array<Row, 30> kRows{{
    {"uint8", 1},           {"int8", 1},
    {"int16", 2},           {"int32", 4},
    {"int64", 8},           {"float16", 2},
    {"float32", 4},         {"float64", 8},
    {"complex32", 4},       {"complex64", 8},
    {"complex128", 16},     {"bool", 1},
    {"qint8", 1},           {"quint8", 1},
    {"qint32", 4},          {"bfloat16", 2},
    {"quint4x2", 1},        {"quint2x4", 1},
    {"bits1x8", 1},         {"bits2x4", 1},
    {"bits4x2", 1},         {"bits8", 1},
    {"bits16", 2},          {"float8_e5m2", 1},
    {"float8_e4m3fn", 1},   {"float8_e5m2fnuz", 1},
    {"float8_e4m3fnuz", 1}, {"uint16", 2},
    {"uint32", 4},          {"uint64", 8},
}};

}  // namespace

bool is_scalar_type(int number) noexcept { return number >= 0 && number < static_cast<int>(kRows.size()); }

std::size_t item_bytes(ScalarType type) noexcept {
  const int number = static_cast<int>(type);
  return is_scalar_type(number) ? kRows[static_cast<std::size_t>(number)].bytes : 0;
}

std::string_view name_of(ScalarType type) noexcept {
  const int number = static_cast<int>(type);
  return is_scalar_type(number) ? kRows[static_cast<std::size_t>(number)].name : "unknown";
}

std::optional<ScalarType> scalar_type_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

}  // namespace tandem
