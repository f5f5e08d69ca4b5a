#pragma once

#include "cli/half.h"

#include <tandem/scalar_type.h>

#include <fmt/format.h>

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>

/// The C++ types that tensors' elements have in memory, and what they look like as text.
namespace tandem::cli {

/// Truth values keep whatever byte the file has: reading another one than 0 and 1 as `bool` is undefined behaviour.
struct Truth {
  std::uint8_t byte = 0;
};

/// A byte of an element type that has no arithmetic here.
struct RawByte {
  std::uint8_t byte = 0;
};

/// Calls `visit` with a default-made element of the C++ type that stores `dtype`; RawByte for types that are only
/// compared and shown byte by byte.
template <class Visitor>
decltype(auto) visit_element(ScalarType dtype, Visitor&& visit) {
  switch (dtype) {
    case ScalarType::Byte:
      return visit(std::uint8_t{});
    case ScalarType::Char:
      return visit(std::int8_t{});
    case ScalarType::Short:
      return visit(std::int16_t{});
    case ScalarType::Int:
      return visit(std::int32_t{});
    case ScalarType::Long:
      return visit(std::int64_t{});
    case ScalarType::UInt16:
      return visit(std::uint16_t{});
    case ScalarType::UInt32:
      return visit(std::uint32_t{});
    case ScalarType::UInt64:
      return visit(std::uint64_t{});
    case ScalarType::Half:
      return visit(Float16{});
    case ScalarType::BFloat16:
      return visit(BrainFloat16{});
    case ScalarType::Float:
      return visit(float{});
    case ScalarType::Double:
      return visit(double{});
    case ScalarType::ComplexFloat:
      return visit(std::complex<float>{});
    case ScalarType::ComplexDouble:
      return visit(std::complex<double>{});
    case ScalarType::Bool:
      return visit(Truth{});
    default:
      return visit(RawByte{});
  }
}

inline std::string element_text(Truth value) { return value.byte != 0 ? "true" : "false"; }
inline std::string element_text(RawByte value) { return fmt::format("0x{:02x}", value.byte); }
template <class T>
requires std::integral<T> || std::floating_point<T> std::string element_text(T value) {
  return fmt::format("{}", value);  // floats: the shortest text that reads back as the same number
}
template <int kExponentBits, int kFractionBits>
std::string element_text(SmallFloat<kExponentBits, kFractionBits> value) {
  return element_text(value.value());
}
template <class T>
std::string element_text(std::complex<T> value) {
  return fmt::format("{}{:+}j", value.real(), value.imag());
}

}  // namespace tandem::cli
