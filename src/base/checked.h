#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace tandem::base {

/// Sum and product that answer nothing where the type overflows.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T out{};
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Whether [offset, offset + size) lies within [0, limit).
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

/// Product of extents times `item`, in bytes; nothing for a negative extent or an overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_bytes(std::span<const T> sizes,
                                                                   std::uint64_t item) noexcept {
  std::uint64_t bytes = item;
  bool empty = false;
  for (const T size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return empty ? 0 : bytes;
}

/// Bytes from the first to the end of the last element of a strided array; nothing where they overflow.
/// Shapes: equal lengths, sizes and strides not negative.
[[nodiscard]] constexpr std::optional<std::uint64_t> extent_bytes(std::span<const std::int64_t> sizes,
                                                                  std::span<const std::int64_t> strides,
                                                                  std::uint64_t item) noexcept {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach)) return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  const auto elements = static_cast<std::uint64_t>(last) + 1;
  if (elements > static_cast<std::uint64_t>(INT64_MAX) / item) return std::nullopt;
  return elements * item;
}

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace tandem::base
