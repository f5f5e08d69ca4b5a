#pragma once

#include <tandem/export.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

/// Element types, numbered as in ATen and ExecuTorch.
/// Source: `ScalarType` in ExecuTorch's schema/scalar_type.fbs.
enum class ScalarType : std::int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8E5M2 = 23,
  Float8E4M3FN = 24,
  Float8E5M2FNUZ = 25,
  Float8E4M3FNUZ = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};

/// Whether `number` is one of the enumerators.
[[nodiscard]] TANDEM_EXPORT bool is_scalar_type(int number) noexcept;
/// Units: bytes per element; 0 for a number that is no ScalarType.
[[nodiscard]] TANDEM_EXPORT std::size_t item_bytes(ScalarType type) noexcept;
/// NumPy-like name, "float32", "bool", "bfloat16"; "unknown" for a number that is no ScalarType.
[[nodiscard]] TANDEM_EXPORT std::string_view name_of(ScalarType type) noexcept;
/// Inverse of name_of().
[[nodiscard]] TANDEM_EXPORT std::optional<ScalarType> scalar_type_from_name(std::string_view name) noexcept;

}  // namespace tandem
