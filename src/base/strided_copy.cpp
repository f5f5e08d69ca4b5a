#include "base/strided_copy.h"

#include "base/strided_axes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tandem::base {
namespace {

template <std::size_t Item>
void copy_row(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
              std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, Item);
}

void copy_row(std::byte* to, const std::byte* from, const Axis& axis, std::size_t item) noexcept {
  const auto width = static_cast<std::int64_t>(item);
  if (axis.to == 1 && axis.from == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(axis.size) * item);
    return;
  }
  switch (item) {  // a constant width makes each copy one instruction
    case 1:
      return copy_row<1>(to, axis.to * width, from, axis.from * width, axis.size);
    case 2:
      return copy_row<2>(to, axis.to * width, from, axis.from * width, axis.size);
    case 4:
      return copy_row<4>(to, axis.to * width, from, axis.from * width, axis.size);
    case 8:
      return copy_row<8>(to, axis.to * width, from, axis.from * width, axis.size);
    default:
      return copy_row<16>(to, axis.to * width, from, axis.from * width, axis.size);
  }
}

}  // namespace

bool same_layout(std::span<const std::int64_t> sizes, std::span<const std::int64_t> a,
                 std::span<const std::int64_t> b) noexcept {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

void copy_strided(void* to, std::span<const std::int64_t> to_strides, const void* from,
                  std::span<const std::int64_t> from_strides, std::span<const std::int64_t> sizes,
                  std::size_t item_bytes) noexcept {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  const Axes axes = simplify(sizes, to_strides, from_strides);
  auto* to_bytes = static_cast<std::byte*>(to);
  const auto* from_bytes = static_cast<const std::byte*>(from);
  if (axes.count == 0) {
    std::memcpy(to_bytes, from_bytes, item_bytes);
    return;
  }
  const auto width = static_cast<std::int64_t>(item_bytes);
  const Axis& row = axes.list[axes.count - 1];
  std::array<std::int64_t, kMaxRank> index{};
  while (true) {
    copy_row(to_bytes, from_bytes, row, item_bytes);
    std::size_t axis = axes.count - 1;
    while (true) {  // an odometer over the outer axes
      if (axis == 0) return;
      --axis;
      const Axis& outer = axes.list[axis];
      to_bytes += outer.to * width;
      from_bytes += outer.from * width;
      if (++index[axis] < outer.size) break;
      to_bytes -= outer.to * outer.size * width;
      from_bytes -= outer.from * outer.size * width;
      index[axis] = 0;
    }
  }
}

}  // namespace tandem::base
